// Address: what a URL says about the way to a server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace postroom::mysql {

enum class Tls {
    disabled,
    required,  // encrypted, whoever answers
    verified,  // the certificate is valid and names the host
};

struct Host {
    std::string name = "127.0.0.1";
    std::uint16_t port = 3306;

    // host:port, as a URL has it.
    std::string text() const;
};

struct Address {
    std::vector<Host> hosts{Host{}};  // in the order in which they are tried
    std::string socket{};             // instead of a host
    std::string user{};
    std::string password{};
    std::string database{};
    std::string ca_file{};
    std::string certificate_file{};
    std::string key_file{};
    Tls tls = Tls::disabled;

    // Throws std::invalid_argument; its text repeats nothing that could be a secret.
    static Address parse(const std::string& url);

    // mysql://host:port/database, without user and password; several hosts with commas between
    // them.
    std::string peer() const;
};

}  // namespace postroom::mysql
