// POSTROOM_ASSERT: states an invariant of our own code; stays on in release builds.
//
// A broken invariant means that nothing the process would do next can be trusted with somebody's
// messages: the condition is printed and the process aborts. Leases run out, so other workers take
// over. Not for bad input (std::invalid_argument) nor for a failing outside world
// (postroom::Error).
#pragma once

namespace postroom::base {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace postroom::base

#define POSTROOM_ASSERT(condition)      \
    ((condition) ? static_cast<void>(0) \
                 : ::postroom::base::assertion_failed(#condition, __FILE__, __LINE__))
