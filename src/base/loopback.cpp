#include "base/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace postroom::base {

bool is_loopback(const std::string& host) {
    if (host.find('\0') != std::string::npos) return false;
    in_addr v4{};
    if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127;
    return host == "localhost" || host == "::1" || host == "[::1]";
}

}  // namespace postroom::base
