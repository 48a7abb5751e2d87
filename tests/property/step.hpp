// Step: one move of a random history. Its numbers are read modulo whatever there is to choose from,
// so every list of steps is a history, and so is every part of one.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "postroom/message.hpp"

namespace postroom::test {

enum class Verb : std::uint8_t {
    enqueue,
    enqueue_many,
    enqueue_born,
    receive,
    receive_many,
    see,
    mark,
    claim,
    claim_briefly,  // and let the leases run out
    nibble,         // claim a few, look how many came, give them back
    settle,
    settle_many,
    extend,
    expire,  // a lease runs out
    reap,
    redrive,
    purge,
    begin,  // the next steps that can take part in a transaction do
    count_,
};

struct Step {
    Verb verb{};
    Queue queue = Queue::outbox;  // of the verbs that both queues have
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
};

// Whether it may be a part of a transaction; the others end the open one first.
bool is_transactional(Verb verb);

void showValue(const Step& step, std::ostream& out);

}  // namespace postroom::test
