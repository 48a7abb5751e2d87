// The roles of docs/guides/roles-and-grants.md on the server of the test run.
#pragma once

#include <string>

#include "postroom/open_store.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {

// The same database for another role.
std::string url_as(const std::string& url, const std::string& role);

// A database to copy in which the migrator has deployed and granted as the guide says.
std::string granted_database(const PostgresServer& server, const OpenOptions& options);

}  // namespace postroom::test
