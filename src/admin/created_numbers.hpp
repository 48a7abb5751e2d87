// Where messages of a time are: those of the outbox are numbered nearly in the order of their
// creation, so a guess and a few looks find them, without an index of times, which every enqueue
// would pay for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "postroom/store.hpp"

namespace postroom::admin {

// Numbers between two others; zero does not restrict, as in Query.
struct NumberRange {
    std::uint64_t after = 0;
    std::uint64_t before = 0;
};

struct CreatedWithin {
    Queue queue = Queue::outbox;
    StateSet states{};
    std::optional<Instant> from{};
    std::optional<Instant> before{};
    // A statement stamps all its messages with its beginning, and numbers them as it goes on: how
    // long it may have run.
    Duration slack = std::chrono::minutes{1};
    std::uint64_t after_seq = 0;
    std::uint64_t before_seq = 0;
};

// The numbers within those given in which all such messages are, unless a statement ran for longer
// than the slack, or the clock was set. Of ten thousand numbers all are.
NumberRange numbers_created(Store& store, const CreatedWithin& wanted);

// When a message id was made, if it tells: a ULID, as those of the library, or a UUID of version 7
// or 1, as those that some databases make.
std::optional<Instant> time_in_message_id(std::string_view id);

}  // namespace postroom::admin
