#include "cli/bulk.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/message_view.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

ExitCode run_discard(const Invocation& in) {
    const BulkChange change{
        .verb = "discard",
        .done = "discarded",
        .states = {State::dead, State::ready},
        .apply = [](Store& store, Queue queue, std::span<const WorkItemId> ids) {
            return controls(store).discard(queue, ids);
        }};
    return run_bulk(in, change, state_from(in.value("state", "dead")).value());
}

}  // namespace

Command discard_command() {
    std::vector<Option> options = bulk_options();
    options.push_back({.name = "state",
                       .value = "STATE",
                       .what = "With a filter or --all: among the dead ones, the default, or among "
                               "those that are ready.",
                       .choices = {"dead", "ready"}});
    return {.name = "discard",
            .summary = "Remove messages that nobody shall get any more.",
            .details =
                "Dead ones, and ready ones that no worker holds; there is no way back. Where the "
                "store keeps history the message stays there as done and discarded until it is "
                "purged, and an inbox does not take it again. Ids are checked before the first is "
                "touched; a filter works in batches, each a transaction of its own, and can be "
                "repeated after an interruption.",
            .arguments = {bulk_argument()},
            .options = std::move(options),
            .examples = {"postroom discard --topic order.placed --error 'no such customer'",
                         "postroom discard --all --state ready --topic test --dry-run"},
            .prints = true,
            .changes = true,
            .run = &run_discard};
}

}  // namespace postroom::cli
