#include "backends/mysql/address.hpp"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace postroom::mysql {

namespace {

[[noreturn]] void refuse(std::string_view why) {
    throw std::invalid_argument(fmt::format("url: {}", why));
}

int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

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
    // The driver takes texts up to the first NUL.
    if (out.find('\0') != std::string::npos) refuse("contains a NUL byte");
    return out;
}

// What stands before `end`, which is taken off too; all of it when there is no `end`.
std::string_view cut(std::string_view& rest, char end) {
    const std::size_t at = rest.find(end);
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    return part;
}

std::uint16_t port_of(std::string_view digits) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc{} || end != digits.data() + digits.size() || port == 0)
        refuse("the port is not a number from 1 to 65535");
    return port;
}

void set_host(Address& address, std::string_view text) {
    if (text.starts_with('[')) {  // an IPv6 address
        text.remove_prefix(1);
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos) refuse("a '[' needs its ']'");
        address.host = std::string(text.substr(0, close));
        text.remove_prefix(close + 1);
        if (text.starts_with(':')) address.port = port_of(text.substr(1));
        return;
    }
    const std::string host = decoded(cut(text, ':'));
    if (!host.empty()) address.host = host;
    if (!text.empty()) address.port = port_of(text);
}

Tls tls_of(const std::string& mode) {
    if (mode == "verify") return Tls::verified;
    if (mode == "required") return Tls::required;
    if (mode == "disabled") return Tls::disabled;
    refuse("ssl-mode must be verify, required or disabled");
}

bool is_here(const Address& address) {
    return !address.socket.empty() || address.host == "localhost" || address.host == "::1" ||
           address.host.starts_with("127.");
}

void set_options(Address& address, std::string_view query) {
    std::optional<Tls> tls;
    while (!query.empty()) {
        std::string_view value = cut(query, '&');
        const std::string_view name = cut(value, '=');
        const std::string text = decoded(value);
        if (name == "socket") {
            address.socket = text;
        } else if (name == "ssl-ca") {
            address.ca_file = text;
        } else if (name == "ssl-cert") {
            address.certificate_file = text;
        } else if (name == "ssl-key") {
            address.key_file = text;
        } else if (name == "ssl-mode") {
            tls = tls_of(text);
        } else {
            refuse("unknown option; known: socket, ssl-ca, ssl-cert, ssl-key, ssl-mode");
        }
    }
    const bool asked = !is_here(address) || !address.ca_file.empty();
    address.tls = tls.value_or(asked ? Tls::verified : Tls::disabled);
}

}  // namespace

Address Address::parse(const std::string& url) {
    std::string_view rest = url;
    const std::size_t colon = rest.find("://");
    if (colon == std::string_view::npos ||
        (rest.substr(0, colon) != "mysql" && rest.substr(0, colon) != "mariadb"))
        refuse("does not begin with mysql:// or mariadb://");
    rest.remove_prefix(colon + 3);

    Address address;
    const std::string_view way = cut(rest, '?');
    const std::size_t slash = way.find('/');
    std::string_view authority = way.substr(0, slash);
    // A password may hold an '@' that was not escaped; the host cannot.
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        std::string_view account = authority.substr(0, at);
        address.user = decoded(cut(account, ':'));
        address.password = decoded(account);
        authority.remove_prefix(at + 1);
    }
    set_host(address, authority);
    if (slash != std::string_view::npos) address.database = decoded(way.substr(slash + 1));
    if (address.database.empty()) refuse("names no database: mysql://user@host/database");
    set_options(address, rest);
    return address;
}

std::string Address::peer() const {
    if (!socket.empty()) return fmt::format("mysql:{}/{}", socket, database);
    return fmt::format("mysql://{}:{}/{}", host, port, database);
}

}  // namespace postroom::mysql
