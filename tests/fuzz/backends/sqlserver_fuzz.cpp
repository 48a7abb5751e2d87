// URLs of this backend, and the configuration of the driver that decides whether it verifies.
#include "backends/sqlserver/address.hpp"
#include "fuzz.hpp"

namespace postroom::fuzz {

namespace {

void check_address(const sqlserver::Address& address) {
    require(address.port > 0 && !address.database.empty(), "a URL leads to a database");
    for (const std::string& text : {address.host, address.user, address.password, address.database,
                                    address.driver, address.server_name})
        require(text.find('\0') == std::string::npos, "the driver sees all of a text");
    sqlserver::Address nameless = address;
    nameless.user.clear();
    nameless.password.clear();
    require(nameless.peer() == address.peer(), "neither user nor password is shown");
}

}  // namespace

void run(std::string_view input) {
    for (const std::string& url : {std::string(input), "sqlserver://" + std::string(input)})
        takes<std::invalid_argument>([&] { check_address(sqlserver::Address::parse(url)); });
    const std::string section(input.substr(0, input.find('\n')));
    if (section.find_first_of("[]") == std::string::npos)
        require(!sqlserver::section_verifies("", section), "nothing verifies without a word of it");
    sqlserver::section_verifies(std::string(input), "server");
}

}  // namespace postroom::fuzz
