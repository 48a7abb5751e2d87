// The PostgreSQL server of the test run, and databases of one's own on it.
//
// tests/servers/postgres.sh starts the server and tests/servers/pgbouncer.sh the pooler in front of
// it; ctest does both before the first test that needs them. Here is how a test finds them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/test_servers.hpp"

namespace postroom::test {

// Runs `sql` (one statement, or several separated by semicolons in one implicit transaction) on a
// connection of its own, independent of all product code, and returns the rows of the last
// statement. Throws SqlError.
SqlRows psql(const std::string& url, const std::string& sql);

// PostgresServer: the address of a running server. Copies are cheap and refer to the same server.
class PostgresServer {
public:
    // The server of this test run, from $POSTROOM_TEST_SERVERS. Throws std::runtime_error with the
    // command that starts it when it is not there: a test that needs it fails, it is never skipped.
    PostgresServer();

    // The server whose files are in `directory`/postgres, and its pooler in `directory`/pgbouncer.
    explicit PostgresServer(std::filesystem::path directory);

    std::string url(const std::string& database) const;
    // The same database through PgBouncer in transaction pooling mode. Throws as the constructor
    // when no pooler runs.
    std::string via_pgbouncer_url(const std::string& database) const;

    // Creates a database with a name nobody else uses, a copy of the database `original` (template0
    // is empty), and returns its URL. The caller drops it; PostgresDatabase does both.
    std::string create_database(const std::string& original = "template0") const;
    // A database to copy that is as `prepare` makes an empty one. It is made once per `content`,
    // which stands for all that `prepare` does, and stays until the server goes.
    std::string original(const std::string& content,
                         const std::function<void(const std::string& url)>& prepare) const;
    // Ends all connections to the database named `name` and removes it, if it is there.
    void drop_database(const std::string& name) const;

private:
    std::filesystem::path directory_;
    std::string authority_;  // user@host:port
};

// PostgresDatabase: a database of one's own, empty or a copy, that lives as long as this object.
class PostgresDatabase {
public:
    explicit PostgresDatabase(PostgresServer server = PostgresServer(),
                              const std::string& original = "template0");
    ~PostgresDatabase();
    PostgresDatabase(const PostgresDatabase&) = delete;
    PostgresDatabase& operator=(const PostgresDatabase&) = delete;

    const std::string& name() const { return name_; }
    const std::string& url() const { return url_; }
    std::string via_pgbouncer_url() const { return server_.via_pgbouncer_url(name_); }
    SqlRows psql(const std::string& sql) const { return test::psql(url_, sql); }

private:
    PostgresServer server_;
    std::string url_;
    std::string name_;
};

}  // namespace postroom::test
