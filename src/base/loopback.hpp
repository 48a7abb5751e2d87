// Which host names mean this machine.
#pragma once

#include <string>

namespace postroom::base {

// localhost, ::1 (also in brackets), and addresses in 127.0.0.0/8 in the usual spelling. A name
// that merely begins with "127." is somebody's name, and resolves to whatever they like.
bool is_loopback(const std::string& host);

}  // namespace postroom::base
