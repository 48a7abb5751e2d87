#include "cli/session.hpp"

#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/host_name.hpp"
#include "cli/failure.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"
#include "cli/remote/remote_store.hpp"
#include "cli/temporary_folder.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

std::vector<std::string> names_of(const Config& config) {
    std::vector<std::string> names;
    names.reserve(config.plan.stores.size());
    for (const daemon::StorePlan& store : config.plan.stores) names.push_back(store.name);
    return names;
}

// Opening a file that is not there would make an empty database of it.
void require_present(const std::string& store, const std::string& url) {
    std::error_code error;
    std::error_code ignored;
    const std::string file = file_of(url);
    if (file.empty() || std::filesystem::exists(file, error)) return;
    if (error) {
        throw Failure(ExitCode::unavailable,
                      fmt::format("store '{}': cannot look at the file {}: {}", printable(store),
                                  printable(file), error.message()));
    }
    const std::filesystem::path path = std::filesystem::absolute(file, ignored);
    const bool has_folder = std::filesystem::exists(path.parent_path(), ignored);
    throw Failure(
        ExitCode::not_found,
        fmt::format("store '{}': no such {}: {}; is the name right? {}", printable(store),
                    has_folder ? "file" : "folder",
                    printable((has_folder ? path : path.parent_path()).string()),
                    has_folder ? "'postroom migrate up' makes it" : "It has to be made first"));
}

// What can be done about a file that could not be used, by what the driver says of it.
std::string_view file_hint(std::string_view words) {
    const auto says = [words](std::string_view part) {
        return words.find(part) != std::string_view::npos;
    };
    if (says("No space left") || says("disk is full"))
        return "; make room on its disk: what is stored is safe";
    if (says("No such file or directory")) return "; its folder is not there: make that first";
    if (says("Permission denied") || says("readonly") || says("Read-only"))
        return "; this user needs the right to read and write the file and its folder";
    return "; is the path right, and may this user read and write it?";
}

void require_schema(const std::string& name, const SchemaReport& report) {
    if (report.newer) return;
    if (report.version == 0) {
        throw Failure(ExitCode::schema,
                      fmt::format("store '{}': the schema is not deployed, or this user cannot "
                                  "see it; run 'postroom migrate up', or give a DBA the output of "
                                  "'postroom migrate sql'",
                                  name));
    }
    if (!report.pending.empty()) {
        throw Failure(ExitCode::schema,
                      fmt::format("store '{}': {} pending; run 'postroom migrate up'", name,
                                  counted(report.pending.size(), "migration")));
    }
}

// Where the URL was given is where it has to be mended.
template <class Open>
auto opened(const Config& config, const daemon::StorePlan& plan, Open open) {
    try {
        return open();
    } catch (const std::invalid_argument& error) {
        const auto at = config.values.find(fmt::format("stores.{}.url", plan.name));
        throw bad_address(at == config.values.end() ? "" : at->second.origin, plan.name, error);
    }
}

// A driver does not know what the user calls its database, nor what the user can do now.
template <class Open>
auto named(const std::string& store, const std::string& url, Open open) {
    try {
        return open();
    } catch (const Error& error) {
        const std::string what = fmt::format("store '{}': {}", store, error.what());
        const bool refused = error.kind() == ErrorKind::rejected;
        if (!file_of(url).empty() && (refused || error.kind() == ErrorKind::unavailable)) {
            throw Failure(ExitCode::unavailable, what + std::string(file_hint(what)));
        }
        // Before there is a statement of ours to refuse, it is the login.
        if (refused) {
            throw Failure(ExitCode::unavailable,
                          what + "; are database, user, password and rights right?");
        }
        // A driver that knows more has said it behind a semicolon.
        const bool advised = std::string_view(error.what()).find("; ") != std::string_view::npos;
        if (error.kind() == ErrorKind::unavailable && !advised) {
            throw Error(
                error.kind(),
                what +
                    "; is the server running, and are address, database, user and password right?");
        }
        throw Error(error.kind(), what);
    }
}

// A schema connects when it is asked something.
class NamedSchema final : public Schema {
public:
    NamedSchema(std::unique_ptr<Schema> schema, const daemon::StorePlan& plan)
        : schema_(std::move(schema)), store_(plan.name), url_(plan.url) {}

    SchemaReport report() override {
        return named(store_, url_, [this] { return schema_->report(); });
    }
    void deploy() override {
        try {
            schema_->deploy();
        } catch (const Error& error) {
            throw Error(error.kind(), fmt::format("store '{}': {}", store_, error.what()));
        }
    }
    std::string script() const override { return schema_->script(); }

private:
    const std::unique_ptr<Schema> schema_;
    const std::string store_;
    const std::string url_;
};

}  // namespace

std::string file_of(const std::string& url) {
    constexpr std::string_view scheme = "sqlite:";
    if (!url.starts_with(scheme)) return "";
    const std::string path = url.substr(scheme.size());
    if (path.starts_with("///")) return path.substr(2);
    // With a host, and perhaps a password in front of it, it is no file; opening it says so.
    return path.starts_with("//") ? "" : path;
}

Failure bad_address(const std::string& origin, const std::string& store,
                    const std::invalid_argument& error) {
    std::string_view what = error.what();
    constexpr std::string_view of_the_driver = "url: ";
    if (what.starts_with(of_the_driver)) what.remove_prefix(of_the_driver.size());
    // A flag and a variable are for this address and no other; of a file the line is known only.
    const bool named = origin == "--url" || origin == "POSTROOM_URL";
    const std::string place = named ? origin
                                    : fmt::format("{}{}stores.{}.url", origin,
                                                  origin.empty() ? "" : ": ", printable(store));
    return {ExitCode::config,
            fmt::format("{}: {}; an address looks like sqlite:shop.db or postgresql://app@db/shop",
                        place, what)};
}

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
    return named(options.store_id, url, [&] {
        std::unique_ptr<Store> store = open_store(url, options);
        require_schema(options.store_id, open_schema(url, options)->report());
        return store;
    });
}

std::unique_ptr<Store> open_store_of(const Config& config, const daemon::StorePlan& plan,
                                     Absent absent) {
    if (!config.remote.empty()) return open_remote_store(config.remote, plan.name);
    if (absent == Absent::refuse) require_present(plan.name, plan.url);
    return opened(config, plan, [&] { return open_with_schema(plan.url, plan.options); });
}

std::unique_ptr<Store> open_for_writing(const Config& config, const daemon::StorePlan& plan) {
    if (!plan.options.deploy_schema) require_present(plan.name, plan.url);
    return opened(config, plan, [&] {
        return named(plan.name, plan.url, [&] { return open_store(plan.url, plan.options); });
    });
}

void rethrow_write_error(const Config& config, const daemon::StorePlan& plan, const Error& error) {
    if (error.kind() != ErrorKind::rejected) throw;
    const SchemaReport report = open_schema_of(config, plan, Absent::create)->report();
    if (report.version == 0) {
        throw Failure(ExitCode::schema,
                      fmt::format("store '{}': {}; the schema is not deployed, or this user cannot "
                                  "see it: run 'postroom migrate up' as its owner, or give a DBA "
                                  "the output of 'postroom migrate sql', or let it grant what a "
                                  "writer needs (docs/guides/roles-and-grants.md)",
                                  plan.name, error.what()));
    }
    require_schema(plan.name, report);
    throw;
}

std::unique_ptr<Schema> open_schema_of(const Config& config, const daemon::StorePlan& plan,
                                       Absent absent) {
    if (absent == Absent::refuse) require_present(plan.name, plan.url);
    return opened(config, plan, [&]() -> std::unique_ptr<Schema> {
        return std::make_unique<NamedSchema>(open_schema(plan.url, plan.options), plan);
    });
}

SchemaReport plan_for(const Config& config, const daemon::StorePlan& plan) {
    std::error_code ignored;
    const std::string file = file_of(plan.url);
    if (file.empty() || std::filesystem::exists(file, ignored))
        return open_schema_of(config, plan)->report();
    // Everything would be applied. An empty database somewhere else says the same.
    const TemporaryFolder folder("plan");
    daemon::StorePlan scratch = plan;
    scratch.url = "sqlite:" + folder.path() + "/empty.db";
    return open_schema_of(config, scratch, Absent::create)->report();
}

std::string operator_name() {
    const passwd* const user = getpwuid(geteuid());
    return fmt::format("{}@{}", user == nullptr ? fmt::format("{}", geteuid()) : user->pw_name,
                       base::host_name());
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
