// Why a server cannot be connected to, in the system's words: the client library does not keep
// them.
#pragma once

#include <string>

namespace postroom::sink_rabbitmq {

// Tries once more, for a second at most, and hangs up. Empty when nothing is wrong any more.
std::string connect_fault(const std::string& host, int port);

}  // namespace postroom::sink_rabbitmq
