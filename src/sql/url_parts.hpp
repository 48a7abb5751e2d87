// The parts of a URL user:password@host:port,host:port/path?query, for backends whose driver takes
// none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postroom::sql::url {

// Throws std::invalid_argument: "url: " and `why`. Says nothing of the URL, which may hold a
// secret.
[[noreturn]] void refuse(std::string_view why);

// Percent signs resolved. Refuses those without two digits, and NUL: drivers take texts up to it.
std::string decoded(std::string_view text);

// What stands before `end`, which is taken off `rest` too; all of it when there is no `end`.
std::string_view cut(std::string_view& rest, char end);

struct Host {
    std::string name{};  // an IPv6 address without its brackets; empty: none was given
    std::optional<std::uint16_t> port{};
};

constexpr std::size_t hosts_max = 16;

struct Parts {
    std::string user{};
    std::string password{};
    std::vector<Host> hosts{};  // at least one; where there are several, each has its name
    std::string path{};         // without the slash
    std::string_view query{};
};

// `rest` is what stands behind the scheme; it must outlive the query.
Parts take_apart(std::string_view rest);

// Each name=value of a query, with the value decoded.
void for_each_option(
    std::string_view query,
    const std::function<void(std::string_view name, const std::string& value)>& option);

// Who goes to which database, into an address. `example` is a URL with one.
template <class Address>
void set_account(Address& address, const Parts& parts, std::string_view example) {
    address.user = parts.user;
    address.password = parts.password;
    address.database = parts.path;
    if (address.database.empty()) refuse("names no database: " + std::string(example));
}

}  // namespace postroom::sql::url
