// URLs of this backend.
#include "backends/mysql/address.hpp"
#include "fuzz.hpp"

namespace postroom::fuzz {

namespace {

bool holds_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

void check_address(const mysql::Address& address) {
    require(!address.hosts.empty() && !address.database.empty(), "a URL leads to a database");
    for (const mysql::Host& host : address.hosts)
        require(host.port > 0 && !host.name.empty() && !holds_nul(host.name),
                "each host has a name and a port");
    for (const std::string& text :
         {address.socket, address.user, address.password, address.database, address.ca_file,
          address.certificate_file, address.key_file})
        require(!holds_nul(text), "the driver sees all of a text");
    mysql::Address nameless = address;
    nameless.user.clear();
    nameless.password.clear();
    require(nameless.peer() == address.peer(), "neither user nor password is shown");
}

}  // namespace

void run(std::string_view input) {
    for (const std::string& url : {std::string(input), "mysql://" + std::string(input)})
        takes<std::invalid_argument>([&] { check_address(mysql::Address::parse(url)); });
}

}  // namespace postroom::fuzz
