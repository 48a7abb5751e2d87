#include "queue/settled_event.hpp"

#include "base/assert.hpp"

namespace postroom {

EventKind settled_kind(const Settlement& settlement, Settled settled) {
    switch (settled) {
        case Settled::lost:
            return EventKind::lost;
        case Settled::done:
            return EventKind::delivered;
        case Settled::dead:
            return EventKind::dead;
        case Settled::ready:
            return settlement.outcome == Outcome::release ? EventKind::released
                                                          : EventKind::retried;
    }
    POSTROOM_ASSERT(false && "a Settled outside its enum");
    return EventKind::lost;
}

Event settled_event(const Message& message, const Settlement& settlement, Settled settled,
                    std::uint32_t max_attempts) {
    Event event{.kind = settled_kind(settlement, settled),
                .queue = message.queue,
                .message = &message,
                .error = settlement.error,
                .attempts = settlement.lease.retry_count,
                .max_attempts = message.max_attempts.value_or(max_attempts),
                .delay = settlement.delay};
    if (event.kind == EventKind::lost) event.operation = "settle";
    if (event.kind == EventKind::retried) ++event.attempts;
    if (event.kind == EventKind::dead) {
        event.reason =
            settlement.outcome == Outcome::abandon ? DeadReason::max_attempts : settlement.reason;
        if (settlement.reason == DeadReason::failed) ++event.attempts;
    }
    return event;
}

}  // namespace postroom
