// Sending a batch so that messages of one ordering key go one after the other.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "postroom/handler.hpp"

namespace postroom {

// Messages that may be under way together: no two of one ordering key.
using Wave = std::span<const Message* const>;

// Calls `send` with as few waves as the keys allow, one wave after the other, and returns the
// verdicts in the order of `messages`. When a message is not done, the later ones of its key are
// released without being sent, so that nothing overtakes it. `send` returns one verdict for each
// message of its wave.
std::vector<Verdict> send_in_key_order(std::span<const Message> messages,
                                       const std::function<std::vector<Verdict>(Wave)>& send);

}  // namespace postroom
