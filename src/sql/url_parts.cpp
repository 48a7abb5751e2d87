#include "sql/url_parts.hpp"

#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

namespace postroom::sql::url {

namespace {

int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::uint16_t port_of(std::string_view digits, const std::string& which) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc{} || end != digits.data() + digits.size() || port == 0)
        refuse(which + "the port is not a number from 1 to 65535");
    return port;
}

// `which` says, where there are several hosts, which one is refused.
Host host_of(std::string_view text, const std::string& which) {
    Host host;
    if (text.starts_with('[')) {  // an IPv6 address
        text.remove_prefix(1);
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos) refuse(which + "a '[' needs its ']'");
        host.name = decoded(text.substr(0, close));
        if (host.name.empty()) refuse(which + "there is no address between '[' and ']'");
        text.remove_prefix(close + 1);
        if (text.empty()) return host;
        if (text[0] != ':') refuse(which + "behind ']' only a colon and a port can stand");
        host.port = port_of(text.substr(1), which);
        return host;
    }
    host.name = decoded(cut(text, ':'));
    if (!text.empty()) host.port = port_of(text, which);
    return host;
}

std::vector<Host> hosts_of(std::string_view list) {
    if (list.find(',') == std::string_view::npos) return {host_of(list, "")};
    std::vector<Host> hosts;
    for (bool more = true; more;) {
        more = list.find(',') != std::string_view::npos;
        const std::string which = fmt::format("host {}: ", hosts.size() + 1);
        if (hosts.size() == hosts_max)
            refuse(which + fmt::format("at most {} can be given", hosts_max));
        hosts.push_back(host_of(cut(list, ','), which));
        if (hosts.back().name.empty()) refuse(which + "it has no name");
    }
    return hosts;
}

}  // namespace

void refuse(std::string_view why) { throw std::invalid_argument(fmt::format("url: {}", why)); }

std::string decoded(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        if (text[0] != '%') {
            out += text[0];
            text.remove_prefix(1);
            continue;
        }
        const int high = text.size() > 2 ? digit_of(text[1]) : -1;
        const int low = text.size() > 2 ? digit_of(text[2]) : -1;
        if (high < 0 || low < 0) refuse("a percent sign needs two hexadecimal digits behind it");
        out += static_cast<char>(high * 16 + low);
        text.remove_prefix(3);
    }
    if (out.find('\0') != std::string::npos) refuse("contains a NUL byte");
    return out;
}

std::string_view cut(std::string_view& rest, char end) {
    const std::size_t at = rest.find(end);
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    return part;
}

Parts take_apart(std::string_view rest) {
    Parts parts;
    const std::string_view way = cut(rest, '?');
    parts.query = rest;
    const std::size_t slash = way.find('/');
    std::string_view authority = way.substr(0, slash);
    // A password may hold an '@' that was not escaped; the host cannot.
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        std::string_view account = authority.substr(0, at);
        parts.user = decoded(cut(account, ':'));
        parts.password = decoded(account);
        authority.remove_prefix(at + 1);
    }
    parts.hosts = hosts_of(authority);
    if (slash != std::string_view::npos) parts.path = decoded(way.substr(slash + 1));
    return parts;
}

void for_each_option(
    std::string_view query,
    const std::function<void(std::string_view name, const std::string& value)>& option) {
    while (!query.empty()) {
        std::string_view value = cut(query, '&');
        const std::string_view name = cut(value, '=');
        option(name, decoded(value));
    }
}

}  // namespace postroom::sql::url
