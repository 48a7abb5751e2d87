// Refusals: why a message may not be delivered now, and what becomes of it instead. Asked at the
// claim, and again when its turn comes.
#pragma once

#include <optional>

#include "dispatch/dispatch_state.hpp"

namespace postroom {

struct Refusal {
    Settlement settlement{};
    bool unroutable = false;
};

class Refusals {
public:
    explicit Refusals(const DispatchSetup& setup) : setup_(setup) {}

    // `route`: the message's, if it has one.
    std::optional<Refusal> of(const DispatchState& state, const Message& message,
                              const Routes::Route* route, Instant now) const;
    Refusal destination_rests(const DispatchState& state, const Message& message,
                              Instant now) const;
    // A message of a topic whose `rate` is used up. The next claim comes with its turn.
    static Refusal waits_for_turn(DispatchState& state, const Message& message, SendRate& rate,
                                  Instant now);
    // Settles it, and remembers what the observer has to hear.
    static void settle(DispatchState& state, Effects& effects, Message message, Refusal refusal,
                       Instant now);

private:
    Refusal dead(const Message& message, DeadReason reason, std::string why) const;
    Refusal unroutable(const Message& message) const;

    const DispatchSetup& setup_;
};

}  // namespace postroom
