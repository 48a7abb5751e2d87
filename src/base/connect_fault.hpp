// Why a server cannot be connected to, in the words of the system: some client libraries do not
// keep them.
#pragma once

#include <string>

namespace postroom::base {

// Tries once more, for a second at most, and hangs up. Empty when nothing is wrong any more.
std::string connect_fault(const std::string& host, int port);

}  // namespace postroom::base
