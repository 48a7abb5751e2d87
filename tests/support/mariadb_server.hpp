// The MariaDB server of the test run, and databases of one's own on it.
//
// tests/servers/mariadb.sh starts the server; ctest does it before the first test that needs it. A
// Galera node and a real MySQL are found the same way, under names of their own.
#pragma once

#include <filesystem>
#include <string>

#include "support/test_servers.hpp"

namespace postroom::test {

// What a statement run through mariadb_sql() failed with.
class MariadbError : public SqlError {
public:
    MariadbError(const std::string& message, std::string sqlstate, unsigned code)
        : SqlError(message, std::move(sqlstate)), code_(code) {}

    // The server's number, as 1213 for a deadlock, or the client library's from 2000 on.
    unsigned code() const { return code_; }

private:
    unsigned code_;
};

// Runs `sql` (one statement, or several separated by semicolons, each committed for itself) on a
// connection of its own, independent of all product code, and returns the rows of the last
// statement that had any. Throws MariadbError.
SqlRows mariadb_sql(const std::string& url, const std::string& sql);

// MariadbServer: the address of a running server. Copies are cheap and refer to the same server.
class MariadbServer {
public:
    // The server of this test run, from $POSTROOM_TEST_SERVERS. Throws std::runtime_error with the
    // command that starts it when it is not there.
    MariadbServer() : MariadbServer(servers_directory()) {}

    // The server that tests/servers/`name`.sh keeps in `directory`/`name`.
    explicit MariadbServer(const std::filesystem::path& directory,
                           const std::string& name = "mariadb");

    // The account of the tests: it has a password, and all rights on databases whose names begin
    // with postroom_, as an application has on its own.
    std::string url(const std::string& database) const;
    // The account that may do everything. It names no database.
    std::string root_url() const;

    // Creates an empty database with a name nobody else uses and returns its name. The caller drops
    // it; MariadbDatabase does both.
    std::string create_database() const;
    // Ends all connections that use the database named `name` and removes it, if it is there.
    void drop_database(const std::string& name) const;

private:
    std::string account_;  // user:password
    std::string address_;  // host:port
    std::string query_;    // of the URL, with its question mark, or empty
};

// MariadbDatabase: an empty database of one's own that lives as long as this object.
class MariadbDatabase {
public:
    explicit MariadbDatabase(MariadbServer server = MariadbServer());
    ~MariadbDatabase();
    MariadbDatabase(const MariadbDatabase&) = delete;
    MariadbDatabase& operator=(const MariadbDatabase&) = delete;

    const std::string& name() const { return name_; }
    const std::string& url() const { return url_; }
    const MariadbServer& server() const { return server_; }
    SqlRows sql(const std::string& text) const { return mariadb_sql(url_, text); }

private:
    MariadbServer server_;
    std::string name_;
    std::string url_;
};

}  // namespace postroom::test
