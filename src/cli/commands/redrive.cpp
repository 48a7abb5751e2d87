#include "cli/bulk.hpp"
#include "cli/commands/commands.hpp"

namespace postroom::cli {

namespace {

ExitCode run_redrive(const Invocation& in) {
    return run_bulk(in, admin::Change::redrive, State::dead);
}

}  // namespace

Command redrive_command() {
    return {.name = "redrive",
            .summary = "Make dead messages ready again, as new.",
            .details =
                "In batches, each a transaction of its own. After an interruption the same "
                "command goes on where it was: what has been redriven is not dead any more.",
            .arguments = {bulk_argument()},
            .options = bulk_options(admin::Change::redrive),
            .examples = {"postroom redrive --topic order.placed --rate 100",
                         "postroom redrive --fingerprint 5f0c2d9be1a47733",
                         "postroom redrive --all --dry-run"},
            .prints = true,
            .changes = true,
            .reaches_relays = true,
            .run = &run_redrive};
}

}  // namespace postroom::cli
