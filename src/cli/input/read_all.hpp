// Everything that can be read from a descriptor.
#pragma once

#include <string>

namespace postroom::cli {

// Throws Failure{input} that names `what` when it cannot be read to its end.
std::string read_all(int descriptor, const std::string& what);

}  // namespace postroom::cli
