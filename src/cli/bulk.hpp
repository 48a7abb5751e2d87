// What redrive and discard share: a change to messages that were named, or that match a filter, in
// batches, at a given speed.
#pragma once

#include <vector>

#include "admin/bulk.hpp"
#include "cli/command.hpp"

namespace postroom::cli {

// ID..., --queue, --topic, --error, --all, --rate and the other filters.
Argument bulk_argument();
std::vector<Option> bulk_options(admin::Change change);

// Does what the command line asks for and prints how many. Filters look among messages of `state`.
ExitCode run_bulk(const Invocation& in, admin::Change change, State state);

}  // namespace postroom::cli
