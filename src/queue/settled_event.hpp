// What an observer hears of a message that was settled.
#pragma once

#include "postroom/observer.hpp"
#include "postroom/store.hpp"

namespace postroom {

// `message` as an Event shows it; both must outlive the event. `max_attempts` is that of the
// policy, for a message without one of its own.
Event settled_event(const Message& message, const Settlement& settlement, Settled settled,
                    std::uint32_t max_attempts);

// Of which kind that event is.
EventKind settled_kind(const Settlement& settlement, Settled settled);

}  // namespace postroom
