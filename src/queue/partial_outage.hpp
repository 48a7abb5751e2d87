// A destination that serves some messages of a wave and not others is not down.
#pragma once

#include <vector>

#include "postroom/handler.hpp"

namespace postroom {

// How long a message rests that its destination did not take while it took others.
constexpr Duration partial_outage_pause = std::chrono::seconds{2};

// The verdict without the outage: the message rests, at no attempt's cost, and nobody waits with
// it.
Verdict spared(Verdict verdict, Duration pause = partial_outage_pause);

// Spares each that tells of an outage, provided that another one is done: a queue of theirs is
// full, or a partition has no leader, and messages for elsewhere need not wait with them.
void spare_a_living_destination(std::vector<Verdict>& verdicts);

}  // namespace postroom
