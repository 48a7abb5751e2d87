// Which messages may be leased from birth; both kinds of store refuse the others.
#pragma once

#include <stdexcept>

#include "postroom/message.hpp"

namespace postroom {

// Only a message that is certain to be written, claimable at once and in no order: whether a key is
// taken or a time has come is for the database to say, after the writer had counted on delivering
// it.
inline void require_bearable(const NewMessage& message) {
    if (!message.idempotency_key.empty() || message.due_time || !message.ordering_key.empty() ||
        message.priority < 0) {
        throw std::invalid_argument(
            "born lease: not with an idempotency_key, a due_time, an ordering_key or a priority "
            "below 0");
    }
}

}  // namespace postroom
