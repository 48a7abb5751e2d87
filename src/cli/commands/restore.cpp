#include <fmt/format.h>

#include <optional>

#include "admin/json_view.hpp"
#include "admin/restore.hpp"
#include "base/rfc3339.hpp"
#include "cli/commands/commands.hpp"
#include "cli/confirm.hpp"
#include "cli/failure.hpp"
#include "cli/message_filter.hpp"
#include "cli/output/json.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

using admin::RestoreAnswer;
using admin::RestoreReport;
using admin::RestoreRequest;
using admin::RestoreResult;

std::string sentence_of(const RestoreReport& report) {
    const StoreHome& home = report.home;
    if (home.hold)
        return fmt::format("delivery has been held since {}: {}",
                           base::rfc3339_milliseconds(home.hold->since), printable(*report.why));
    if (report.why)
        return fmt::format("delivery will be held by the next relay: {}", printable(*report.why));
    return home.incarnation.empty()
               ? "delivery is not held; no relay with a guard has been here yet"
               : "delivery is not held";
}

std::string lines_of(const RestoreReport& report) {
    std::string text = fmt::format("{}: {}\n", printable(report.store), sentence_of(report));
    if (const std::optional<RestoreDecision>& decided = report.home.decided)
        text += fmt::format("  last decision: {} by {}, {}\n", printable(decided->what),
                            printable(decided->who), base::rfc3339_milliseconds(decided->at));
    if (report.why)
        text +=
            "  'postroom restore continue' delivers everything that waits, 'discard' sets it aside "
            "first, 'requeue' also delivers what was set aside earlier\n";
    return text;
}

ExitCode show_restore(const Invocation& in) {
    const Config config = load_config(in);
    JsonArray array;
    std::string text;
    for (const daemon::StorePlan& plan : chosen_stores(config, in)) {
        const std::unique_ptr<Store> store = open_store_of(config, plan);
        const RestoreReport report = admin::restore_report(*store);
        array.add_json(admin::json_of(report));
        text += lines_of(report);
    }
    print(in.json() ? array.text() + "\n" : text);
    return ExitCode::ok;
}

ExitCode hold_by_hand(const Invocation& in) {
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const bool held = in.dry_run() ? !admin::restore_report(*store).home.hold
                                   : admin::hold_delivery(*store, operator_name());
    if (in.json()) {
        print(JsonObject()
                  .add("store", store->id())
                  .add("changed", held && !in.dry_run())
                  .add("dry_run", in.dry_run())
                  .text() +
              "\n");
    } else {
        print(fmt::format("{}: delivery {}\n", printable(store->id()),
                          !held          ? "was held already"
                          : in.dry_run() ? "would be held"
                                         : "is held"));
    }
    return ExitCode::ok;
}

std::optional<Instant> before_of(const Invocation& in) {
    if (!in.has("before")) return std::nullopt;
    const std::optional<Instant> time = parse_time(in.value("before"));
    if (!time) throw Failure(ExitCode::usage, "--before needs a time such as 2027-01-31T03:00:00Z");
    return time;
}

std::string question_of(const RestoreResult& planned) {
    const std::string messages = counted(planned.matched, "message");
    switch (planned.answer) {
        case RestoreAnswer::proceed:
            return fmt::format("deliver {} waiting in store '{}'?", messages, planned.store);
        case RestoreAnswer::discard:
            return fmt::format("set aside {} of store '{}', and deliver the rest?", messages,
                               planned.store);
        case RestoreAnswer::requeue:
            return fmt::format(
                "deliver everything that waits in store '{}', and {} set aside earlier?",
                planned.store, messages);
    }
    return "";
}

std::string outcome_of(const RestoreResult& result) {
    const bool plans = result.dry_run;
    std::string text;
    if (result.answer == RestoreAnswer::proceed && plans)
        text = fmt::format("{} would be delivered", counted(result.matched, "message"));
    if (result.answer == RestoreAnswer::discard)
        text = fmt::format("{} {}set aside",
                           counted(plans ? result.matched : result.changed, "message"),
                           plans ? "would be " : "");
    if (result.answer == RestoreAnswer::requeue)
        text = fmt::format("{} {}requeued",
                           counted(plans ? result.matched : result.changed, "message"),
                           plans ? "would be " : "");
    if (plans) return text;
    if (!text.empty()) text += "; ";
    if (result.left > 0)
        return text +
               fmt::format(
                   "delivery stays held: {} still leased to a worker; repeat this when the "
                   "leases have run out",
                   result.left == 1 ? "1 message is" : fmt::format("{} messages are", result.left));
    return text + (result.was_held ? "delivery goes on" : "delivery was not held");
}

// What nobody holds needs no decision; what was set aside earlier can be requeued at any time.
void require_held(const RestoreResult& planned) {
    if (planned.was_held || planned.answer != RestoreAnswer::discard) return;
    throw Failure(ExitCode::failed,
                  fmt::format("delivery of store '{}' is not held; nothing was done",
                              printable(planned.store)));
}

ExitCode decide_restore(const Invocation& in, RestoreAnswer given) {
    RestoreRequest request{.answer = given, .who = operator_name()};
    if (given == RestoreAnswer::discard) request.before = before_of(in);
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    RestoreResult result = admin::consider(*store, request);
    require_held(result);
    const bool asks = result.was_held || given == RestoreAnswer::requeue;
    if (asks) confirm(in, [&] { return question_of(result); });
    if (!in.dry_run()) {
        Progress progress(given == RestoreAnswer::requeue ? "requeued" : "set aside",
                          result.matched);
        if (given != RestoreAnswer::proceed)
            request.progress = [&](std::uint64_t changed) { progress.at(changed); };
        result = admin::decide(*store, request);
    }
    print(in.json() ? admin::json_of(result) + "\n"
                    : fmt::format("{}: {}\n", printable(result.store), outcome_of(result)));
    return result.left > 0 ? ExitCode::left : ExitCode::ok;
}

Command answer_command(RestoreAnswer given, std::string summary, std::string details) {
    return {.name = std::string(admin::verb_of(given)),
            .summary = std::move(summary),
            .details = std::move(details),
            .options = {yes_option()},
            .prints = true,
            .changes = true,
            .run = [given](const Invocation& in) { return decide_restore(in, given); }};
}

std::vector<Command> answers() {
    Command discard = answer_command(
        RestoreAnswer::discard,
        "Set aside what was waiting when delivery was held; deliver what came later.",
        "Messages that were created before the hold began become dead with the reason 'restored'; "
        "nothing is deleted, and they do not block their ordering keys. Then delivery goes on. It "
        "works in batches and can be repeated after an interruption; the hold stands until it is "
        "through. Exit code 8 when some are leased to a worker and have to be left for now.");
    discard.options.insert(
        discard.options.begin(),
        {.name = "before",
         .value = "TIME",
         .what = "Set aside only what was created before, such as 2027-01-31T03:00:00Z: when the "
                 "database went back into service."});
    discard.examples = {"postroom restore discard --dry-run",
                        "postroom restore discard --before 2027-01-31T03:00:00Z"};
    return {answer_command(RestoreAnswer::proceed, "Deliver everything that waits, as it is.",
                           "For a database that was moved, or a backup of which nothing was "
                           "delivered since. Whatever was delivered after the backup was made is "
                           "delivered again."),
            std::move(discard),
            answer_command(RestoreAnswer::requeue,
                           "Deliver everything that waits, and what 'discard' had set aside.",
                           "The way back from 'discard': dead messages with the reason 'restored' "
                           "become ready again, with their counters cleared. Some of them only: "
                           "'postroom redrive' with a filter.")};
}

}  // namespace

Command restore_command() {
    Command group{
        .name = "restore",
        .summary = "Decide what becomes of a database that was restored from a backup, or copied.",
        .details =
            "A relay that notices one holds delivery: it takes no message of that store "
            "until one of these has decided. Enqueuing and everything else go on. See "
            "docs/guides/restoring-a-backup.md.",
        .commands = {{.name = "status",
                      .summary = "Show whether delivery is held, and why.",
                      .prints = true,
                      .run = &show_restore},
                     {.name = "hold",
                      .summary = "Hold delivery by hand, before relays reach a restored database.",
                      .prints = true,
                      .changes = true,
                      .run = &hold_by_hand}}};
    for (Command& one : answers()) group.commands.push_back(std::move(one));
    return group;
}

}  // namespace postroom::cli
