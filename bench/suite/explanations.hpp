// Why a bar is missed, as far as a profile has shown it.
#pragma once

#include <string>

#include "suite/bars.hpp"

namespace bench {

// Empty: nobody has looked yet.
std::string explanation(const Bar& bar);

}  // namespace bench
