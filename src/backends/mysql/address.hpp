// Address: what a URL says about the way to a server.
#pragma once

#include <cstdint>
#include <string>

namespace postroom::mysql {

enum class Tls {
    disabled,
    required,  // encrypted, whoever answers
    verified,  // the certificate is valid and names the host
};

struct Address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 3306;
    std::string socket{};  // instead of host and port
    std::string user{};
    std::string password{};
    std::string database{};
    std::string ca_file{};
    std::string certificate_file{};
    std::string key_file{};
    Tls tls = Tls::disabled;

    // Throws std::invalid_argument; its text repeats nothing that could be a secret.
    static Address parse(const std::string& url);

    // mysql://host:port/database, without user and password.
    std::string peer() const;
};

}  // namespace postroom::mysql
