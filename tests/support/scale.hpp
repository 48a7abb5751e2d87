// How large the loads of this run are. Tests name their full load and scale it, so that one test
// serves both the quick run of every change and the full run.
#pragma once

#include <cstdint>

namespace postroom::test {

// POSTROOM_TEST_SCALE: 1 is the full load; a tenth when unset. Throws std::invalid_argument for
// anything that is not a positive number.
double load_scale();

// `full_load` times load_scale(), rounded, and never below `minimum`: the size under which the test
// would no longer show what it is there to show.
std::uint64_t scaled(std::uint64_t full_load, std::uint64_t minimum);

}  // namespace postroom::test
