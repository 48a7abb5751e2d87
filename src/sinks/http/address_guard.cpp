#include "sinks/http/address_guard.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace postroom::sink_http {

namespace {

constexpr std::size_t v4_offset = 12;
constexpr unsigned v4_prefix_bits = 96;

Address mapped(const void* four_bytes) {
    Address address{};
    address[10] = address[11] = 0xff;
    std::memcpy(address.data() + v4_offset, four_bytes, 4);
    return address;
}

Network network(std::string_view text) { return Network::parse(text).value(); }

bool in_any(const std::vector<Network>& networks, const Address& address) {
    return std::ranges::any_of(networks,
                               [&address](const Network& n) { return n.contains(address); });
}

// From the IANA registries of special-purpose addresses.
const std::vector<Network>& special_networks() {
    static const std::vector<Network> networks = [] {
        std::vector<Network> list;
        for (const char* text :
             {"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
              "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
              "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
              // Inside 2000::/3: protocol assignments with Teredo, documentation, 6to4.
              "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"})
            list.push_back(network(text));
        return list;
    }();
    return networks;
}

bool is_v4(const Address& address) {
    static const Network v4 = network("::ffff:0:0/96");
    return v4.contains(address);
}

}  // namespace

std::optional<Address> address_from(const sockaddr& socket_address) {
    if (socket_address.sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &socket_address, sizeof v4);
        return mapped(&v4.sin_addr);
    }
    if (socket_address.sa_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &socket_address, sizeof v6);
        Address address{};
        std::memcpy(address.data(), &v6.sin6_addr, address.size());
        return address;
    }
    return std::nullopt;
}

std::optional<Address> address_from(std::string_view text) {
    const std::string terminated(text);
    in_addr v4{};
    if (::inet_pton(AF_INET, terminated.c_str(), &v4) == 1) return mapped(&v4);
    Address address{};
    if (::inet_pton(AF_INET6, terminated.c_str(), address.data()) == 1) return address;
    return std::nullopt;
}

std::string to_string(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (is_v4(address)) {
        ::inet_ntop(AF_INET, address.data() + v4_offset, text.data(), text.size());
    } else {
        ::inet_ntop(AF_INET6, address.data(), text.data(), text.size());
    }
    return text.data();
}

bool is_public(const Address& address) {
    static const Network global_unicast = network("2000::/3");
    static const Network nat64 = network("64:ff9b::/96");
    if (nat64.contains(address)) return is_public(mapped(address.data() + v4_offset));
    return (is_v4(address) || global_unicast.contains(address)) &&
           !in_any(special_networks(), address);
}

std::optional<Network> Network::parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    const std::optional<Address> address = address_from(text.substr(0, slash));
    if (!address) return std::nullopt;
    // "::ffff:0:0/96" is spelt as IPv6, and so is its prefix.
    const bool spelt_v4 = text.substr(0, slash).find(':') == std::string_view::npos;
    const unsigned width = spelt_v4 ? 32 : 128;
    unsigned bits = width;
    if (slash != std::string_view::npos) {
        const std::string_view number = text.substr(slash + 1);
        const char* const end = number.data() + number.size();
        const auto [stopped, error] = std::from_chars(number.data(), end, bits);
        if (error != std::errc{} || stopped != end || bits > width) return std::nullopt;
    }
    return Network{.address = *address, .prefix_bits = spelt_v4 ? v4_prefix_bits + bits : bits};
}

bool Network::contains(const Address& candidate) const {
    const std::size_t whole = prefix_bits / 8;
    if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(whole),
                    candidate.begin()))
        return false;
    const unsigned rest = prefix_bits % 8;
    if (rest == 0) return true;
    const unsigned shift = 8 - rest;
    return address[whole] >> shift == candidate[whole] >> shift;
}

bool AddressGuard::allows(const Address& address) const {
    return is_public(address) || in_any(allowed_, address);
}

}  // namespace postroom::sink_http
