// Verdict: what an exception that came out of a handler means for its message. Pure.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "postroom/store.hpp"

namespace postroom {

struct Verdict {
    Outcome outcome = Outcome::ack;
    std::string error;
    std::optional<Duration> delay;  // abandon: nullopt for the policy's
};

// `thrown` is nullptr when the handler returned. `pause` is how long a message rests whose
// destination or database was at fault: that costs it no attempt.
Verdict verdict_of(const std::exception_ptr& thrown, Duration pause);

}  // namespace postroom
