#include "conformance/mysql/roles.hpp"

#include <regex>

#include "support/guide.hpp"

namespace postroom::test {

GrantedAccounts::GrantedAccounts(const MariadbDatabase& database) : database_(database) {
    std::string grants = sql_blocks("guides/roles-and-grants.md", "MariaDB and MySQL").at(0);
    grants = std::regex_replace(grants, std::regex("shop\\."), database.name() + ".");
    for (const std::string role : roles) {
        as_root("CREATE USER '" + user(role) + "'@'%' IDENTIFIED BY 'secret'");
        grants =
            std::regex_replace(grants, std::regex("postroom_" + role), "'" + user(role) + "'@'%'");
    }
    as_root(grants);
}

GrantedAccounts::~GrantedAccounts() {
    for (const std::string role : roles) as_root("DROP USER '" + user(role) + "'@'%'");
}

std::string GrantedAccounts::url(const std::string& role) const {
    const std::string& url = database_.url();
    return "mysql://" + user(role) + ":secret" + url.substr(url.rfind('@'));
}

void GrantedAccounts::as_root(const std::string& sql) const {
    mariadb_sql(database_.server().root_url(), sql);
}

// Accounts belong to the server.
std::string GrantedAccounts::user(const std::string& role) const {
    return role + "_" + database_.name();
}

}  // namespace postroom::test
