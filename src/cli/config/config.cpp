#include "cli/config/config.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/assert.hpp"
#include "base/listed_words.hpp"
#include "cli/config/gather.hpp"
#include "cli/config/settings.hpp"
#include "cli/config/warnings.hpp"
#include "cli/failure.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"
#include "cli/remote/remote_store.hpp"

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
    double decimal(const std::string& key) const { return parse_decimal(text(key)).value(); }
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
    options.old_failure_attempts =
        static_cast<std::uint32_t>(read.count(at + "old_failure_attempts"));
    options.pooled = read.flag(at + "pooled");
    options.limits.max_payload_bytes = read.count(at + "max_payload_bytes");
    options.limits.max_error_chars = read.count(at + "max_error_chars");
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
        } else if (!find_setting(key, "")) {  // those of every sink are the relay's
            sink.settings[setting] = given.value;
        }
    }
    return sink;
}

// Of the sinks that have a limit.
std::map<std::string, double> sink_rates(const Reader& read, const std::set<std::string>& sinks) {
    std::map<std::string, double> rates;
    for (const std::string& name : sinks) {
        const GivenValue& given = read.given(fmt::format("sinks.{}.rate", name));
        const double rate = read.decimal(given.key);
        if (rate == 0) continue;
        if (rate < SendRate::per_second_min) {
            throw Failure(ExitCode::config,
                          fmt::format("{}: {} must be 0 or at least {}", given.origin, given.key,
                                      SendRate::per_second_min));
        }
        rates[name] = rate;
    }
    return rates;
}

RetryPolicy preset(const std::string& name) {
    if (name == "fast") return RetryPolicy::fast();
    if (name == "minutes") return RetryPolicy::minutes();
    if (name == "steady") return RetryPolicy::steady();
    if (name == "steady_exponential") return RetryPolicy::steady_exponential();
    return RetryPolicy::standard();
}

// The policy that the settings below `at` describe; what they do not say is `otherwise`.
RetryPolicy retry_policy(const Reader& read, const std::string& at, const RetryPolicy& otherwise) {
    const auto given = [&](const char* name) { return !read.text(at + name).empty(); };
    RetryPolicy policy = given("retry") ? preset(read.text(at + "retry")) : otherwise;
    if (given("retry_base")) policy.base = read.duration(at + "retry_base");
    if (given("retry_factor")) policy.factor = read.decimal(at + "retry_factor");
    if (given("retry_cap")) policy.cap = read.duration(at + "retry_cap");
    if (given("retry_jitter")) policy.jitter = read.decimal(at + "retry_jitter");
    if (given("max_attempts") && read.count(at + "max_attempts") > 0)
        policy.max_attempts = read.small_count(at + "max_attempts");
    try {
        validate(policy);
    } catch (const std::invalid_argument& error) {
        throw Failure(ExitCode::config, fmt::format("{}retry: {}", at, error.what()));
    }
    return policy;
}

std::map<std::string, RetryPolicy> sink_policies(const Reader& read,
                                                 const std::set<std::string>& sinks,
                                                 const RetryPolicy& of_relay) {
    std::map<std::string, RetryPolicy> policies;
    for (const std::string& name : sinks)
        policies[name] = retry_policy(read, fmt::format("sinks.{}.", name), of_relay);
    return policies;
}

std::vector<daemon::RoutePlan> route_plans(const Reader& read, const Values& values,
                                           const std::map<std::string, RetryPolicy>& sinks) {
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
    std::vector<std::string> known;
    for (const auto& [name, policy] : sinks) known.push_back(name);
    std::vector<daemon::RoutePlan> routes;
    for (const std::int64_t number : numbers) {
        const GivenValue& sink = read.given(fmt::format("routes.{}.sink", number));
        const GivenValue& topic = read.given(fmt::format("routes.{}.topic", number));
        if (sink.value.empty()) {
            throw Failure(ExitCode::config,
                          fmt::format("{}: this route names no sink", topic.origin));
        }
        const auto policy = sinks.find(sink.value);
        if (policy == sinks.end()) {
            throw Failure(ExitCode::config,
                          fmt::format("{}: there is no sink '{}'{}", sink.origin,
                                      printable(sink.value), did_you_mean(sink.value, known)));
        }
        routes.push_back(
            {.pattern = topic.value,
             .sink = sink.value,
             .retry = retry_policy(read, fmt::format("routes.{}.", number), policy->second)});
    }
    if (routes.empty())
        throw Failure(ExitCode::config,
                      "there are several sinks and no [[routes]] to tell them apart");
    return routes;
}

DispatcherOptions dispatcher_options(const Reader& read) {
    DispatcherOptions options;
    options.worker_count = read.small_count("relay.worker_count");
    options.batch = read.small_count("relay.batch");
    options.claim_bytes = read.count("relay.claim_bytes");
    options.cold_capacity = read.count("relay.capacity");
    options.lease = read.duration("relay.lease");
    options.poll_interval_max = read.duration("relay.poll_interval_max");
    options.drain_timeout = read.duration("relay.drain_timeout");
    options.wake_ups = read.flag("relay.wake_ups");
    options.on_close = read.text("relay.on_close") == "drain" ? OnClose::drain : OnClose::release;
    options.retry = retry_policy(read, "relay.", {});
    options.crash_limit = read.small_count("relay.crash_limit");
    const std::string& unroutable = read.text("relay.unroutable");
    options.unroutable = unroutable == "dead"   ? Unroutable::dead
                         : unroutable == "hold" ? Unroutable::hold
                                                : Unroutable::retry;
    options.hold_delay = read.duration("relay.hold_delay");
    options.retention = read.duration("relay.retention");
    options.other_queue_retention = read.duration("relay.inbox_retention");
    options.dead_retention = read.duration("relay.dead_retention");
    return options;
}

// A service manager gives a folder to keep things in by its own variable.
RestoreGuardOptions restore_guard(const Reader& read) {
    RestoreGuardOptions options{.on = read.flag("relay.restore_guard"),
                                .state_dir = read.text("relay.state_dir")};
    const char* const given = std::getenv("STATE_DIRECTORY");
    // A unit may have several, with colons between them.
    if (options.state_dir.empty() && given != nullptr)
        options.state_dir = std::string_view(given).substr(0, std::string_view(given).find(':'));
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

AdminToken token_of(const Reader& read, const std::string& name) {
    const std::string at = fmt::format("tokens.{}.", name);
    AdminToken token{.name = name,
                     .sha256 = read.text(at + "sha256"),
                     .role = admin_role_from(read.text(at + "role")).value()};
    const GivenValue& expires = read.given(at + "expires_at");
    if (!expires.value.empty()) {
        token.expires_at = parse_time(expires.value);
        if (!token.expires_at)
            throw Failure(ExitCode::config,
                          fmt::format("{}: {} must be a time such as 2027-01-31T00:00:00Z",
                                      expires.origin, expires.key));
    }
    return token;
}

HealthThresholds health_thresholds(const Reader& read) {
    const auto part = [&](const char* key) { return static_cast<double>(read.count(key)) / 100.0; };
    return {.backlog_degraded = read.count("health.backlog_degraded"),
            .backlog_unhealthy = read.count("health.backlog_unhealthy"),
            .oldest_age_degraded = read.duration("health.oldest_age_degraded"),
            .oldest_age_unhealthy = read.duration("health.oldest_age_unhealthy"),
            .failure_ratio_degraded = part("health.failed_percent_degraded"),
            .failure_ratio_unhealthy = part("health.failed_percent_unhealthy"),
            .circuit_open_degraded = read.duration("health.circuit_open_degraded"),
            .circuit_open_unhealthy = read.duration("health.circuit_open_unhealthy")};
}

AdminLimits admin_limits(const Reader& read) {
    AdminLimits limits;
    limits.connections_max = read.count("admin.connections_max");
    limits.request_timeout = read.duration("admin.request_timeout");
    limits.requests_per_second = static_cast<double>(read.count("admin.requests_per_second"));
    limits.burst = 4 * limits.requests_per_second;
    limits.failures_per_minute = static_cast<double>(read.count("admin.wrong_tokens_per_minute"));
    return limits;
}

AdminOptions admin_options(const Reader& read, const Values& values) {
    AdminOptions options{.listen = read.text("admin.listen"),
                         .anonymous = admin_role_from(read.text("admin.anonymous")).value(),
                         .hosts = base::listed_words(read.text("admin.hosts")),
                         .limits = admin_limits(read),
                         .health = health_thresholds(read),
                         .version = POSTROOM_VERSION};
    for (const std::string& name : names_under(values, "tokens"))
        options.tokens.push_back(token_of(read, name));
    if (options.listen.empty()) return options;
    try {
        validate(options);
    } catch (const std::invalid_argument& error) {
        throw Failure(ExitCode::config, error.what());
    }
    return options;
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

// The stores are those that the relay has.
void use_remote(Config& config, const std::string& url) {
    config.remote = url;
    config.plan.stores.clear();
    const ApiClient client(url);
    client.warn_of_plain_text();
    for (const std::string& name : remote_store_names(client))
        config.plan.stores.push_back({.name = name});
}

void warn(const Config& config, const std::vector<std::string>& warnings) {
    if (!config.warns) return;
    for (const std::string& warning : warnings) complain("warning: " + warning);
}

}  // namespace

Config load_config(const Invocation& in) {
    Gathered gathered = gather_values(in);
    std::vector<std::string> warnings = warnings_about(gathered);
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
    config.plan.rates = sink_rates(read, sinks);
    config.plan.dispatcher = dispatcher_options(read);
    config.plan.routes =
        route_plans(read, config.values, sink_policies(read, sinks, config.plan.dispatcher.retry));
    config.plan.restore_guard = restore_guard(read);
    config.plan.connections_max = read.count("relay.connections_max");
    config.plan.log = log_plan(read);
    config.plan.admin = admin_options(read, config.values);
    check_dispatcher(config);
    if (in.has("remote")) use_remote(config, in.value("remote"));
    config.warns = !in.command().keeps_log;
    config.plan.warnings = std::move(warnings);
    warn(config, config.plan.warnings);
    return config;
}

void check_sinks(const Config& config) {
    for (const SinkConfig& sink : config.plan.sinks) {
        try {
            std::vector<std::string> warnings = make_sink(sink)->warnings();
            for (std::string& warning : warnings)
                warning = fmt::format("sink '{}': {}", sink.name, warning);
            warn(config, warnings);
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
