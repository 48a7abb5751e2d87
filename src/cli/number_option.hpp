// An option whose value is a whole number.
#pragma once

#include <cstdint>
#include <string>

#include "cli/command.hpp"

namespace postroom::cli {

// `otherwise` when it is not given. Throws Failure{usage} that names the option and its limits.
std::int64_t number_of(const Invocation& in, const std::string& option, std::int64_t otherwise,
                       std::int64_t min, std::int64_t max);

}  // namespace postroom::cli
