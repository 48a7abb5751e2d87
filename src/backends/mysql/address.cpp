#include "backends/mysql/address.hpp"

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

bool is_here(const Address& address) {
    return !address.socket.empty() || base::is_loopback(address.host);
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
    sql::url::set_way(address, parts, "mysql://user@host/database");
    set_options(address, parts.query);
    return address;
}

std::string Address::peer() const {
    if (!socket.empty()) return fmt::format("mysql:{}/{}", socket, database);
    return fmt::format("mysql://{}:{}/{}", host, port, database);
}

}  // namespace postroom::mysql
