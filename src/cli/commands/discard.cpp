#include "admin/state_words.hpp"
#include "cli/bulk.hpp"
#include "cli/commands/commands.hpp"
#include "cli/confirm.hpp"

namespace postroom::cli {

namespace {

ExitCode run_discard(const Invocation& in) {
    const State state = admin::state_from(in.value("state", "dead")).value();
    return run_bulk(in, admin::Change::discard, state);
}

}  // namespace

Command discard_command() {
    std::vector<Option> options = bulk_options(admin::Change::discard);
    options.push_back({.name = "state",
                       .value = "STATE",
                       .what = "With a filter or --all: among the dead ones, the default, or among "
                               "those that are ready.",
                       .choices = {"dead", "ready"}});
    options.push_back(yes_option());
    return {.name = "discard",
            .summary = "Remove messages that are not to be delivered any more.",
            .details =
                "Dead ones, and ready ones that no worker holds; there is no way back. Where the "
                "store keeps history the message stays there as done and discarded until it is "
                "purged, and an inbox does not take it again. Ids are checked before the first is "
                "touched; a filter works in batches, each a transaction of its own, and can be "
                "repeated after an interruption. With a filter or --all it says how many there "
                "are and asks first; where there is no terminal to ask on it needs --yes.",
            .arguments = {bulk_argument()},
            .options = std::move(options),
            .examples = {"postroom discard --topic order.placed --error 'answered 404'",
                         "postroom discard --topic test --state ready --dry-run",
                         "postroom discard --all --yes"},
            .prints = true,
            .changes = true,
            .reaches_relays = true,
            .run = &run_discard};
}

}  // namespace postroom::cli
