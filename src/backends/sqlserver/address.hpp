// Address: a sqlserver:// URL, taken apart; and what the driver is told.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "postroom/clock.hpp"

namespace postroom::sqlserver {

enum class Tls : std::uint8_t { disabled, verified };

struct Address {
    std::string user{};
    std::string password{};
    std::string host = "localhost";
    std::uint16_t port = 1433;
    std::string database{};
    std::string driver{};       // as odbcinst.ini names it; empty: the first that is installed
    std::string server_name{};  // a section of freetds.conf
    Tls tls = Tls::disabled;

    // Throws std::invalid_argument, without a part of the URL that may be secret.
    static Address parse(const std::string& url);

    // For people: no user, no password.
    std::string peer() const;
};

// Of the `installed` drivers the one that the address names, or else Microsoft's, or else FreeTDS.
// Throws Error{unavailable} that says what to install.
std::string driver_for(const Address& address, std::span<const std::string> installed);

// What SQLDriverConnect is given: it holds the password. Throws Error{misuse} where the driver
// would not verify the server although it must; `freetds_conf` is the text of that file.
std::string connection_string(const Address& address, const std::string& driver,
                              const std::string& freetds_conf);

// Whether a section of freetds.conf makes FreeTDS encrypt and check certificate and host name.
bool section_verifies(const std::string& freetds_conf, const std::string& section);

}  // namespace postroom::sqlserver
