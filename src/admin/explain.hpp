// Why a message is where it is: what it waits for, who has it, or what became of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "postroom/operator.hpp"

namespace postroom::admin {

enum class Reason : std::uint8_t {
    paused,             // its topic is
    behind_blocking,    // `ahead`, of its ordering key, is dead or waits for another attempt
    behind_delivering,  // `ahead` is being delivered
    behind_waiting,     // `ahead` waits too
    retries_later,
    not_due,
    given_back,        // without an attempt, for a while
    destination_down,  // `circuit` is open
    no_route,
    unclaimed,  // nothing keeps it from being delivered
    delivering,
    worker_gone,  // its lease has run out
    delivered,
    discarded,
    dead,
    only_seen,
};

struct Explanation {
    Message message{};
    Reason reason = Reason::unclaimed;
    Instant now{};                           // the database's clock
    std::optional<PausedTopic> pause{};      // Reason::paused: what holds it back
    std::optional<Message> ahead{};          // Reason::behind_*
    std::optional<CircuitReport> circuit{};  // Reason::destination_down
    bool nobody_at_work = false;             // no dispatcher says that it works on the queue
    std::optional<WorkerReport> holder{};    // Reason::delivering: who has it, if it has reported
};

// When the message was claimed, or its lease last renewed; nullopt: nobody holds it, or its holder
// does not tell how long its leases are.
std::optional<Instant> leased_at(const Explanation& explanation);

// Whether the caller's configuration has a place for messages of this topic. Empty: it has.
using IsRouted = std::function<bool(const Message&)>;

// Asks the store for what it needs and no more: the pause of the topic, the first message of the
// ordering key that stands in the way, and what the dispatchers at work wait for.
Explanation explain(Store& store, const Message& message, const IsRouted& routed = {});

// The reason for programs: "behind_blocking".
std::string_view reason_word(Reason reason);

// In one sentence for people. Texts of the message stand in it as they are.
std::string sentence_of(const Explanation& explanation);

}  // namespace postroom::admin
