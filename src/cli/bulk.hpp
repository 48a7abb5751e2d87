// What redrive and discard share: a change to messages that were named, or that match a filter, in
// batches, at a given speed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "postroom/store.hpp"

namespace postroom::cli {

struct BulkChange {
    std::string verb;  // "redrive"
    std::string done;  // "redriven"
    // In which a message may be changed.
    std::vector<State> states;
    // Each call is a transaction of its own. Returns how many were changed.
    std::function<std::uint64_t(Store&, Queue, std::span<const WorkItemId>)> apply;
};

// ID..., --queue, --topic, --error, --all and --rate.
Argument bulk_argument();
std::vector<Option> bulk_options();

// Does what the command line asks for and prints how many. Filters look among messages of `state`.
ExitCode run_bulk(const Invocation& in, const BulkChange& change, State state);

}  // namespace postroom::cli
