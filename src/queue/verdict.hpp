// What an exception that came out of a handler means for its message. Pure.
#pragma once

#include <exception>

#include "postroom/handler.hpp"

namespace postroom {

// `pause` is how long a message rests whose database was at fault: that costs it no attempt.
Verdict verdict_of(const std::exception_ptr& thrown, Duration pause);

}  // namespace postroom
