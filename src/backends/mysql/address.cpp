#include "backends/mysql/address.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/loopback.hpp"
#include "sql/url_parts.hpp"

namespace postroom::mysql {

namespace {

using sql::url::refuse;

Tls tls_of(const std::string& mode) {
    if (mode == "verify") return Tls::verified;
    if (mode == "required") return Tls::required;
    if (mode == "disabled") return Tls::disabled;
    refuse("ssl-mode must be verify, required or disabled");
}

// One host elsewhere is enough for TLS to all of them.
bool is_here(const Address& address) {
    return !address.socket.empty() ||
           std::all_of(address.hosts.begin(), address.hosts.end(),
                       [](const Host& host) { return base::is_loopback(host.name); });
}

std::vector<Host> hosts_of(const sql::url::Parts& parts) {
    std::vector<Host> hosts;
    for (const sql::url::Host& given : parts.hosts) {
        Host& host = hosts.emplace_back();
        if (!given.name.empty()) host.name = given.name;
        host.port = given.port.value_or(host.port);
    }
    return hosts;
}

void set_options(Address& address, std::string_view query) {
    std::optional<Tls> tls;
    sql::url::for_each_option(query, [&](std::string_view name, const std::string& text) {
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
    });
    if (!address.socket.empty() && address.hosts.size() > 1)
        refuse("a socket is of this machine, and several hosts are named; give one or the other");
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

    const sql::url::Parts parts = sql::url::take_apart(rest);
    Address address;
    sql::url::set_account(address, parts, "mysql://user@host/database");
    address.hosts = hosts_of(parts);
    set_options(address, parts.query);
    return address;
}

std::string Host::text() const {
    const bool ipv6 = name.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", name, ipv6 ? "]" : "", port);
}

std::string Address::peer() const {
    if (!socket.empty()) return fmt::format("mysql:{}/{}", socket, database);
    std::string list;
    for (const Host& host : hosts) list += (list.empty() ? "" : ",") + host.text();
    return fmt::format("mysql://{}/{}", list, database);
}

}  // namespace postroom::mysql
