// What is odd about a configuration that works.
#pragma once

#include <string>
#include <vector>

#include "cli/config/gather.hpp"

namespace postroom::cli {

// Sentences without any secret: variables of the environment that mean nothing, secrets in a file
// that everybody can read.
std::vector<std::string> warnings_about(const Gathered& gathered);

}  // namespace postroom::cli
