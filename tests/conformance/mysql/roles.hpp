// The accounts of docs/guides/roles-and-grants.md, for the database of one test.
#pragma once

#include <array>
#include <string>

#include "support/mariadb_server.hpp"

namespace postroom::test {

// GrantedAccounts: a writer, a worker and a viewer with the rights that the guide gives them. The
// schema has been deployed before. They live as long as this object, which `database` outlives.
class GrantedAccounts {
public:
    explicit GrantedAccounts(const MariadbDatabase& database);
    ~GrantedAccounts();
    GrantedAccounts(const GrantedAccounts&) = delete;
    GrantedAccounts& operator=(const GrantedAccounts&) = delete;

    std::string url(const std::string& role) const;

private:
    static constexpr std::array roles{"writer", "worker", "viewer"};

    void as_root(const std::string& sql) const;
    std::string user(const std::string& role) const;

    const MariadbDatabase& database_;
};

}  // namespace postroom::test
