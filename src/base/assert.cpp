#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace postroom::base {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
    std::fprintf(stderr, "postroom: assertion failed: %s (%s:%d)\n", condition, file, line);
    std::fflush(stderr);
    std::abort();
}

}  // namespace postroom::base
