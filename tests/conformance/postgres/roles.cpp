#include "conformance/postgres/roles.hpp"

#include <vector>

#include "postroom/backend/postgres.hpp"
#include "support/guide.hpp"

namespace postroom::test {

namespace {

// Roles belong to the server, and several tests may be the first.
void create_roles(const PostgresServer& server, const std::string& statements) {
    psql(server.url("postgres"),
         "BEGIN; SELECT pg_advisory_xact_lock(4712); DO $do$ BEGIN "
         "IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'postroom_writer') THEN " +
             statements + " CREATE ROLE postroom_stranger LOGIN; END IF; END $do$; COMMIT");
}

}  // namespace

std::string url_as(const std::string& url, const std::string& role) {
    const std::size_t from = url.find("//") + 2;
    return url.substr(0, from) + role + url.substr(url.find('@', from));
}

std::string granted_database(const PostgresServer& server, const OpenOptions& options) {
    const std::vector<std::string> blocks = sql_blocks("guides/roles-and-grants.md", "PostgreSQL");
    create_roles(server, blocks.at(0));
    std::string content = postgres::open_schema(server.url("postgres"), options)->script();
    for (const std::string& block : blocks) content += block;
    return server.original(content, [&](const std::string& url) {
        psql(url, blocks.at(1));
        const std::string migrator = url_as(url, "postroom_migrator");
        postgres::open_schema(migrator, options)->deploy();
        psql(migrator, blocks.at(2));
    });
}

}  // namespace postroom::test
