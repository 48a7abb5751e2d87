// The SQL Server that a user has named for the tests, and databases of one's own on it.
//
// POSTROOM_TEST_SQLSERVER is its URL, with an account that may create databases. Where it is not
// set, the tests on SQL Server do not exist.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "support/test_servers.hpp"

namespace postroom::test {

// Nothing: there is none.
std::optional<std::string> sqlserver_url();

// A connection made with ODBC alone, independent of all product code but the reading of URLs.
class SqlServerSession {
public:
    explicit SqlServerSession(const std::string& url);

    void* handle() const { return connection_.get(); }
    // The rows of the last result of a batch. Throws SqlError.
    SqlRows run(const std::string& sql) { return run_on(handle(), sql); }
    static SqlRows run_on(void* connection, const std::string& sql);
    std::string value(const std::string& sql) { return run(sql).at(0).at(0).value(); }

private:
    struct Close {
        void operator()(void* connection) const;
    };
    std::unique_ptr<void, Close> connection_;
};

// An empty database of one's own that lives as long as this object.
class SqlServerDatabase {
public:
    SqlServerDatabase();
    ~SqlServerDatabase();
    SqlServerDatabase(const SqlServerDatabase&) = delete;
    SqlServerDatabase& operator=(const SqlServerDatabase&) = delete;

    const std::string& url() const { return url_; }
    SqlRows sql(const std::string& text) const { return SqlServerSession(url_).run(text); }

private:
    const std::string name_;
    const std::string url_;
};

// A database with our schema under its usual names and no messages. To make one takes seconds, so
// it goes to the next who asks, emptied, unless it was `spoiled`.
class SqlServerDeployed {
public:
    SqlServerDeployed();
    ~SqlServerDeployed();
    SqlServerDeployed(const SqlServerDeployed&) = delete;
    SqlServerDeployed& operator=(const SqlServerDeployed&) = delete;

    const SqlServerDatabase& operator*() const { return *database_; }
    const SqlServerDatabase* operator->() const { return database_.get(); }
    // Somebody may have changed more than messages.
    void spoil() { spoiled_ = true; }

private:
    std::unique_ptr<SqlServerDatabase> database_;
    bool spoiled_ = false;
};

}  // namespace postroom::test
