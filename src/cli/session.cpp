#include "cli/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
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

// The file that a URL names; empty: it names a server.
std::string file_of(const std::string& url) {
    constexpr std::string_view scheme = "sqlite:";
    if (!url.starts_with(scheme)) return "";
    const std::string path = url.substr(scheme.size());
    return path.starts_with("///") ? path.substr(2) : path;
}

// Opening a file that is not there would make an empty database of it.
void require_present(const std::string& store, const std::string& url) {
    std::error_code ignored;
    const std::string file = file_of(url);
    if (file.empty() || std::filesystem::exists(file, ignored)) return;
    throw Failure(ExitCode::not_found,
                  fmt::format("store '{}': no such file: {}; is the name right? 'postroom migrate "
                              "up' makes it",
                              printable(store),
                              printable(std::filesystem::absolute(file, ignored).string())));
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
    if (!options.deploy_schema) require_present(options.store_id, url);
    return named(options.store_id, [&] {
        std::unique_ptr<Store> store = open_store(url, options);
        require_schema(options.store_id, open_schema(url, options)->report());
        return store;
    });
}

std::unique_ptr<Store> open_store_of(const Config& config, const daemon::StorePlan& plan,
                                     Absent absent) {
    if (absent == Absent::refuse) require_present(plan.name, plan.url);
    return opened(config, plan, [&] { return open_with_schema(plan.url, plan.options); });
}

std::unique_ptr<Schema> open_schema_of(const Config& config, const daemon::StorePlan& plan,
                                       Absent absent) {
    if (absent == Absent::refuse) require_present(plan.name, plan.url);
    return opened(config, plan, [&] {
        return named(plan.name, [&] { return open_schema(plan.url, plan.options); });
    });
}

StoreControls& controls(Store& store) {
    StoreControls* const found = controls_of(store);
    if (found == nullptr)
        throw Failure(ExitCode::failed,
                      fmt::format("store '{}' cannot do this", printable(store.id())));
    return *found;
}

std::optional<Instant> paused_since(Store& store, const std::string& topic) {
    for (const PausedTopic& paused : controls(store).paused_topics())
        if (paused.topic == topic) return paused.since;
    return std::nullopt;
}

SchemaReport plan_for(const Config& config, const daemon::StorePlan& plan) {
    std::error_code ignored;
    const std::string file = file_of(plan.url);
    if (file.empty() || std::filesystem::exists(file, ignored))
        return open_schema_of(config, plan)->report();
    // Everything would be applied. An empty database somewhere else says the same.
    std::string folder = (std::filesystem::temp_directory_path() / "postroom-plan-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr)
        throw Failure(ExitCode::failed, "cannot make a temporary folder");
    daemon::StorePlan scratch = plan;
    scratch.url = "sqlite:" + folder + "/empty.db";
    SchemaReport report = open_schema_of(config, scratch, Absent::create)->report();
    std::filesystem::remove_all(folder, ignored);
    return report;
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
