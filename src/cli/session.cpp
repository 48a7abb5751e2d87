#include "cli/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/failure.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

std::vector<std::string> names_of(const Config& config) {
    std::vector<std::string> names;
    names.reserve(config.plan.stores.size());
    for (const daemon::StorePlan& store : config.plan.stores) names.push_back(store.name);
    return names;
}

// Opening a database that is not there would make an empty one.
void require_present(const Config& config, Absent absent) {
    std::error_code ignored;
    if (absent == Absent::create || !config.default_store ||
        std::filesystem::exists("postroom.db", ignored))
        return;
    throw Failure(ExitCode::not_found,
                  "there is no postroom.db in this folder; name a database with POSTROOM_URL or a "
                  "config file, or make one with 'postroom migrate up'");
}

void require_schema(const std::string& name, const SchemaReport& report) {
    if (report.newer) return;
    if (report.version == 0) {
        throw Failure(ExitCode::schema,
                      fmt::format("store '{}': the schema is not deployed; run 'postroom migrate "
                                  "up', or give a DBA the output of 'postroom migrate sql'",
                                  name));
    }
    if (!report.pending.empty()) {
        throw Failure(
            ExitCode::schema,
            fmt::format("store '{}': {} migrations are pending; run 'postroom migrate up'", name,
                        report.pending.size()));
    }
}

// Where the URL was given is where it has to be mended.
template <class Open>
auto opened(const Config& config, const daemon::StorePlan& plan, Open open) {
    try {
        return open();
    } catch (const std::invalid_argument& error) {
        const std::string key = fmt::format("stores.{}.url", plan.name);
        const auto at = config.values.find(key);
        throw Failure(ExitCode::config,
                      fmt::format("{}: {}: {}", at == config.values.end() ? "" : at->second.origin,
                                  key, error.what()));
    }
}

// A driver does not know what the user calls its database.
template <class Open>
auto named(const std::string& store, Open open) {
    try {
        return open();
    } catch (const Error& error) {
        const std::string what = fmt::format("store '{}': {}", store, error.what());
        // Before there is a statement of ours to refuse, it is the login.
        if (error.kind() == ErrorKind::rejected)
            throw Failure(ExitCode::unavailable, what + "; are user, password and rights right?");
        throw Error(error.kind(), what);
    }
}

}  // namespace

const daemon::StorePlan& one_store(const Config& config, const Invocation& in) {
    const std::vector<daemon::StorePlan>& stores = config.plan.stores;
    const std::string name = in.has("store") ? in.value("store") : in.has("url") ? "main" : "";
    if (name.empty()) {
        if (stores.size() == 1) return stores.front();
        throw Failure(ExitCode::usage,
                      fmt::format("there are several stores; choose with --store: {}",
                                  fmt::join(names_of(config), ", ")));
    }
    const auto at = std::ranges::find(stores, name, &daemon::StorePlan::name);
    if (at == stores.end()) {
        throw Failure(ExitCode::not_found, fmt::format("there is no store '{}'{}", printable(name),
                                                       did_you_mean(name, names_of(config))));
    }
    return *at;
}

std::vector<daemon::StorePlan> chosen_stores(const Config& config, const Invocation& in) {
    if (in.has("store") || in.has("url")) return {one_store(config, in)};
    return config.plan.stores;
}

std::unique_ptr<Store> open_with_schema(const std::string& url, const OpenOptions& options) {
    return named(options.store_id, [&] {
        std::unique_ptr<Store> store = open_store(url, options);
        require_schema(options.store_id, open_schema(url, options)->report());
        return store;
    });
}

std::unique_ptr<Store> open_store_of(const Config& config, const daemon::StorePlan& plan,
                                     Absent absent) {
    require_present(config, absent);
    return opened(config, plan, [&] { return open_with_schema(plan.url, plan.options); });
}

std::unique_ptr<Schema> open_schema_of(const Config& config, const daemon::StorePlan& plan,
                                       Absent absent) {
    require_present(config, absent);
    return opened(config, plan, [&] {
        return named(plan.name, [&] { return open_schema(plan.url, plan.options); });
    });
}

Queue queue_of(const Invocation& in) {
    return in.value("queue", "outbox") == "inbox" ? Queue::inbox : Queue::outbox;
}

Option queue_option() {
    return {.name = "queue",
            .value = "QUEUE",
            .what = "outbox (the default) or inbox.",
            .choices = {"outbox", "inbox"}};
}

}  // namespace postroom::cli
