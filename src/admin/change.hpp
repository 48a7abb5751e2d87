// Change: what an operator can do to messages.
#pragma once

#include <cstdint>
#include <string_view>

#include "postroom/store.hpp"

namespace postroom::admin {

enum class Change : std::uint8_t {
    redrive,    // dead ones become ready again, as new
    discard,    // dead ones, and ready ones that no worker holds, are removed for good
    retry_now,  // ready ones that are put off may be delivered at once
};

std::string_view verb_of(Change change);        // "redrive", "retry-now"
std::string_view participle_of(Change change);  // "redriven", "retried"
// In which a message may be changed.
StateSet changeable_states(Change change);

// What a change by filter looks for: `filter` among the states that may be changed. When it
// names none: the ready ones that are put off for retry_now, else the dead ones. For counting:
// Store::count(). Throws std::invalid_argument when the filter names another state.
Query change_filter(Change change, Query filter);

}  // namespace postroom::admin
