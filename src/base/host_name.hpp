// The name of the machine; empty when it does not tell.
#pragma once

#include <string>

namespace postroom::base {

std::string host_name();

}  // namespace postroom::base
