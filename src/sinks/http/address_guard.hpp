// AddressGuard: which addresses requests may go to.
//
// Whoever may choose the URL of a webhook, or answer for its host name, could point it at our own
// network. So the address is judged when a socket is opened to it, after the name was resolved, and
// nothing that is not public is allowed unless the configuration says so.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

namespace postroom::sink_http {

// IPv4 addresses are kept in their IPv6 form, ::ffff:a.b.c.d.
using Address = std::array<std::uint8_t, 16>;

std::optional<Address> address_from(const sockaddr& socket_address);
// Only the usual spellings: four decimal numbers, or IPv6 without brackets.
std::optional<Address> address_from(std::string_view text);
std::string to_string(const Address& address);

// Whether it belongs to a host in the public internet: not loopback, private, link-local, shared,
// multicast, documentation or reserved, nor one of those inside an IPv6 transition address.
bool is_public(const Address& address);

struct Network {
    Address address{};
    unsigned prefix_bits = 128;

    // "10.0.0.0/8", "::1", "fd00::/8"; nullopt for anything else.
    static std::optional<Network> parse(std::string_view text);
    bool contains(const Address& candidate) const;
};

// Thread safety: immutable.
class AddressGuard {
public:
    explicit AddressGuard(std::vector<Network> allowed) : allowed_(std::move(allowed)) {}
    bool allows(const Address& address) const;

private:
    std::vector<Network> allowed_;
};

}  // namespace postroom::sink_http
