#include "daemon/relay.hpp"

#include "cli/commands/commands.hpp"
#include "cli/config/config.hpp"
#include "cli/failure.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

daemon::RelayPlan plan_of(const Invocation& in) {
    const Config config = load_config(in);
    check_sinks(config);
    daemon::RelayPlan plan = config.plan;
    plan.stores = chosen_stores(config, in);
    return plan;
}

std::unique_ptr<Store> open(const std::string& url, const OpenOptions& options) {
    try {
        return open_with_schema(url, options);
    } catch (const std::invalid_argument& error) {
        throw bad_address("", options.store_id, error);
    }
}

ExitCode run_relay(const Invocation& in) {
    const daemon::Signals signals;
    try {
        daemon::run_relay(
            signals, [&in] { return plan_of(in); }, &open);
    } catch (const std::logic_error& error) {  // an argument that the library refuses
        throw Failure(ExitCode::config, error.what());
    }
    return ExitCode::ok;
}

}  // namespace

Command relay_command() {
    return {.name = "relay",
            .summary = "Deliver the messages of all stores to their sinks until told to stop.",
            .details =
                "SIGTERM or SIGINT finish what is on its way, give back the rest and end with 0; a "
                "second one ends at once, and leases then run out. SIGHUP reads the configuration "
                "again; one that does not work is refused with a log line, and the relay goes on "
                "as before. The log goes to standard error, JSON lines when that is no terminal; "
                "RELAY_READY says that messages are being taken. A destination that is down costs "
                "no message an attempt.",
            .examples = {"postroom relay", "POSTROOM_URL=postgresql://app@db/shop postroom relay",
                         "postroom relay --config /etc/postroom.toml"},
            .run = &run_relay};
}

}  // namespace postroom::cli
