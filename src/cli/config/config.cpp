#include "cli/config/config.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/assert.hpp"
#include "cli/config/gather.hpp"
#include "cli/config/settings.hpp"
#include "cli/failure.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

// Reads checked values.
class Reader {
public:
    explicit Reader(const Values& values) : values_(values) {}

    const GivenValue& given(const std::string& key) const {
        const auto at = values_.find(key);
        POSTROOM_ASSERT(at != values_.end());
        return at->second;
    }
    const std::string& text(const std::string& key) const { return given(key).value; }
    bool flag(const std::string& key) const { return text(key) == "true"; }
    std::uint64_t count(const std::string& key) const {
        return static_cast<std::uint64_t>(parse_integer(text(key)).value());
    }
    std::uint32_t small_count(const std::string& key) const {
        return static_cast<std::uint32_t>(count(key));
    }
    Duration duration(const std::string& key) const { return parse_duration(text(key)).value(); }

private:
    const Values& values_;
};

daemon::StorePlan store_plan(const Reader& read, const std::string& name, bool may_default) {
    const std::string at = fmt::format("stores.{}.", name);
    if (!may_default && read.given(at + "url").origin == "default")
        throw Failure(ExitCode::config, fmt::format("stores.{} has no url", printable(name)));
    daemon::StorePlan store{.name = name, .url = read.text(at + "url")};
    OpenOptions& options = store.options;
    options.store_id = name;
    options.schema = read.text(at + "schema");
    options.outbox_table = read.text(at + "outbox_table");
    options.inbox_table = read.text(at + "inbox_table");
    options.deploy_schema = read.flag(at + "deploy_schema");
    options.keep_history = read.flag(at + "keep_history");
    options.pooled = read.flag(at + "pooled");
    options.limits.max_payload_bytes = read.count(at + "max_payload_bytes");
    options.pool_max = read.count(at + "pool_max");
    options.connect_timeout = read.duration(at + "connect_timeout");
    options.statement_timeout = read.duration(at + "statement_timeout");
    return store;
}

SinkConfig sink_config(const Values& values, const std::string& name) {
    SinkConfig sink{.name = name};
    const std::string prefix = fmt::format("sinks.{}.", name);
    for (const auto& [key, given] : values) {
        if (!key.starts_with(prefix)) continue;
        const std::string setting = key.substr(prefix.size());
        if (setting == "type") {
            sink.type = given.value;
        } else {
            sink.settings[setting] = given.value;
        }
    }
    return sink;
}

std::vector<daemon::RoutePlan> route_plans(const Reader& read, const Values& values,
                                           const std::set<std::string>& sinks) {
    // By number, not by text: routes.10 comes behind routes.9.
    std::vector<std::int64_t> numbers;
    for (const std::string& name : names_under(values, "routes")) {
        const std::optional<std::int64_t> number = parse_integer(name);
        if (!number) {
            throw Failure(
                ExitCode::config,
                fmt::format("routes.{}: routes have no names; write [[routes]]", printable(name)));
        }
        numbers.push_back(*number);
    }
    std::ranges::sort(numbers);
    const std::vector<std::string> known(sinks.begin(), sinks.end());
    std::vector<daemon::RoutePlan> routes;
    for (const std::int64_t number : numbers) {
        const GivenValue& sink = read.given(fmt::format("routes.{}.sink", number));
        const GivenValue& topic = read.given(fmt::format("routes.{}.topic", number));
        if (sink.value.empty()) {
            throw Failure(ExitCode::config,
                          fmt::format("{}: this route names no sink", topic.origin));
        }
        if (!sinks.contains(sink.value)) {
            throw Failure(ExitCode::config,
                          fmt::format("{}: there is no sink '{}'{}", sink.origin,
                                      printable(sink.value), did_you_mean(sink.value, known)));
        }
        routes.push_back({.pattern = topic.value, .sink = sink.value});
    }
    if (routes.empty())
        throw Failure(ExitCode::config,
                      "there are several sinks and no [[routes]] to tell them apart");
    return routes;
}

RetryPolicy retry_policy(const Reader& read) {
    const std::string& name = read.text("relay.retry");
    RetryPolicy policy = name == "fast"                 ? RetryPolicy::fast()
                         : name == "minutes"            ? RetryPolicy::minutes()
                         : name == "steady"             ? RetryPolicy::steady()
                         : name == "steady_exponential" ? RetryPolicy::steady_exponential()
                                                        : RetryPolicy::standard();
    const std::uint32_t attempts = read.small_count("relay.max_attempts");
    if (attempts > 0) policy.max_attempts = attempts;
    return policy;
}

DispatcherOptions dispatcher_options(const Reader& read) {
    DispatcherOptions options;
    options.worker_count = read.small_count("relay.worker_count");
    options.batch = read.small_count("relay.batch");
    options.cold_capacity = read.count("relay.capacity");
    options.lease = read.duration("relay.lease");
    options.poll_interval_max = read.duration("relay.poll_interval_max");
    options.drain_timeout = read.duration("relay.drain_timeout");
    options.retry = retry_policy(read);
    options.crash_limit = read.small_count("relay.crash_limit");
    const std::string& unroutable = read.text("relay.unroutable");
    options.unroutable = unroutable == "dead"   ? Unroutable::dead
                         : unroutable == "hold" ? Unroutable::hold
                                                : Unroutable::retry;
    options.hold_delay = read.duration("relay.hold_delay");
    options.retention = read.duration("relay.retention");
    return options;
}

daemon::LogPlan log_plan(const Reader& read) {
    const std::string& level = read.text("log.level");
    const std::string& format = read.text("log.format");
    return {.level = level == "debug"     ? LogLevel::debug
                     : level == "warning" ? LogLevel::warning
                     : level == "error"   ? LogLevel::error
                                          : LogLevel::info,
            .per_message = read.flag("log.per_message"),
            .json = format == "json" || (format == "auto" && ::isatty(STDERR_FILENO) == 0)};
}

// A relay would refuse them too, but not with the place where they stand.
void check_dispatcher(const Config& config) {
    try {
        validate(config.plan.dispatcher, Limits{});
    } catch (const std::logic_error& error) {
        const std::string what = error.what();
        const auto at = config.values.find("relay." + what.substr(0, what.find(':')));
        throw Failure(ExitCode::config,
                      fmt::format("{}relay.{}",
                                  at == config.values.end() ? "" : at->second.origin + ": ", what));
    }
}

}  // namespace

Config load_config(const Invocation& in) {
    Gathered gathered = gather_values(in);
    Config config{.file = std::move(gathered.file),
                  .values = std::move(gathered.values),
                  .default_store = gathered.default_store};
    const Reader read(config.values);
    for (const std::string& name : names_under(config.values, "stores"))
        config.plan.stores.push_back(
            store_plan(read, name, config.default_store && name == "main"));
    const std::set<std::string> sinks = names_under(config.values, "sinks");
    for (const std::string& name : sinks)
        config.plan.sinks.push_back(sink_config(config.values, name));
    config.plan.routes = route_plans(read, config.values, sinks);
    config.plan.dispatcher = dispatcher_options(read);
    config.plan.connections_max = read.count("relay.connections_max");
    config.plan.log = log_plan(read);
    check_dispatcher(config);
    return config;
}

void check_sinks(const Config& config) {
    for (const SinkConfig& sink : config.plan.sinks) {
        try {
            make_sink(sink);
        } catch (const SinkConfigError& error) {
            const auto at = config.values.find(fmt::format(
                "sinks.{}.{}", sink.name, error.setting().empty() ? "type" : error.setting()));
            const bool placed = at != config.values.end() && at->second.origin != "default";
            throw Failure(
                ExitCode::config,
                fmt::format("{}{}", placed ? at->second.origin + ": " : "", error.what()));
        }
    }
}

}  // namespace postroom::cli
