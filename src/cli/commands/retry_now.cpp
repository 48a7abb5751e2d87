#include "cli/bulk.hpp"
#include "cli/commands/commands.hpp"
#include "cli/confirm.hpp"

namespace postroom::cli {

namespace {

ExitCode run_retry_now(const Invocation& in) {
    return run_bulk(in, admin::Change::retry_now, State::ready);
}

}  // namespace

Command retry_now_command() {
    std::vector<Option> options = bulk_options(admin::Change::retry_now);
    options.push_back(yes_option());
    return {
        .name = "retry-now",
        .summary = "Deliver messages now that wait for their next attempt.",
        .details =
            "Those that failed and wait for their back-off, and those that were given back "
            "because their destination was down; after an outage they need not wait any "
            "longer. Attempts stay counted, and a due time that a message was given still "
            "counts. With a filter or --all it says how many there are and asks first; where "
            "there is no terminal to ask on it needs --yes.",
        .arguments = {bulk_argument()},
        .options = std::move(options),
        .examples = {"postroom retry-now --topic order.placed", "postroom retry-now --all --yes"},
        .prints = true,
        .changes = true,
        .reaches_relays = true,
        .run = &run_retry_now};
}

}  // namespace postroom::cli
