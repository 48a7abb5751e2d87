#include "daemon/relay.hpp"

#include "cli/commands/commands.hpp"
#include "cli/config/config.hpp"
#include "cli/failure.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"
#include "daemon/program_tracing.hpp"

namespace postroom::cli {

namespace {

daemon::RelayPlan plan_of(const Invocation& in) {
    const Config config = load_config(in);
    check_sinks(config);
    daemon::RelayPlan plan = config.plan;
    plan.stores = chosen_stores(config, in);
    plan.tracing = daemon::tracing_settings(plan.warnings);
    return plan;
}

std::unique_ptr<Store> open(const std::string& url, const OpenOptions& options) {
    try {
        return open_with_schema(url, options);
    } catch (const std::invalid_argument& error) {
        throw bad_address("", options.store_id, error);
    }
}

std::chrono::milliseconds interval_of(const Invocation& in) {
    const std::optional<Duration> interval = parse_duration(in.value("every"));
    if (!interval || *interval < std::chrono::milliseconds{100})
        throw Failure(ExitCode::usage,
                      "--every needs a duration of at least 100ms, such as 30s or 5m");
    return std::chrono::duration_cast<std::chrono::milliseconds>(*interval);
}

ExitCode once(const Invocation& in, const daemon::Signals& signals) {
    const daemon::OnceResult result = daemon::run_once(signals, plan_of(in), &open);
    if (result.unavailable) return ExitCode::unavailable;
    return result.left > 0 || result.stopped ? ExitCode::left : ExitCode::ok;
}

ExitCode run_relay(const Invocation& in) {
    if (in.has("once") && in.has("every"))
        throw Failure(ExitCode::usage, "--once and --every exclude each other");
    const daemon::Signals signals;
    const auto load = [&in] { return plan_of(in); };
    try {
        if (in.has("once")) return once(in, signals);
        if (in.has("every")) {
            daemon::run_every(signals, interval_of(in), load, &open);
        } else {
            daemon::run_relay(signals, load, &open);
        }
    } catch (const std::logic_error& error) {  // an argument that the library refuses
        throw Failure(ExitCode::config, error.what());
    }
    return ExitCode::ok;
}

}  // namespace

Command relay_command() {
    return {
        .name = "relay",
        .summary = "Deliver the messages of all stores to their sinks until told to stop.",
        .details =
            "SIGTERM or SIGINT finish what is on its way, give back the rest and end with 0; a "
            "second one ends at once, and leases then run out. Where a database does not answer, "
            "the relay ends all the same within drain_timeout and 5 s, with 3. SIGHUP reads the "
            "configuration "
            "again; one that does not work is refused with a log line, and the relay goes on "
            "as before. The log goes to standard error, JSON lines when that is no terminal; "
            "RELAY_READY says that messages are being taken. A destination that is down costs "
            "no message an attempt. With --once it delivers what is due and ends, as a job of a "
            "scheduler does: with 0 when nothing of that is left, with 8 when messages are left, "
            "because they failed and wait for another attempt, are dead, or could not be claimed, "
            "with 3 when a store was not available.",
        .options = {{.name = "once", .what = "Deliver what is due, then end."},
                    {.name = "every",
                     .value = "DURATION",
                     .what = "Do that again and again, this long from one start to the next, "
                             "such as 30s."}},
        .examples = {"postroom relay", "postroom relay --once", "postroom relay --every 30s",
                     "POSTROOM_URL=postgresql://app@db/shop postroom relay",
                     "postroom relay --config /etc/postroom.toml"},
        .keeps_log = true,
        .run = &run_relay};
}

}  // namespace postroom::cli
