// A thin owner of one Connector/C connection, and of a statement prepared on it. Any error is a
// std::runtime_error.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct st_mysql;
struct st_mysql_stmt;

namespace bench {

class MariadbConnection {
public:
    // As in tests: mysql://user:password@host:port/database, percent-encoded.
    explicit MariadbConnection(const std::string& url);

    // Returns how many rows it changed.
    std::size_t execute(const std::string& sql);
    // The first column; all rows and columns are read.
    std::vector<std::string> rows(const std::string& sql);
    // With quotes around it.
    std::string quoted(const std::string& bytes) const;

    st_mysql* native() const { return connection_.get(); }

private:
    struct Closer {
        void operator()(st_mysql* connection) const;
    };

    [[noreturn]] void give_up(const std::string& what) const;

    std::unique_ptr<st_mysql, Closer> connection_;
};

class MariadbStatement {
public:
    MariadbStatement(MariadbConnection& connection, const std::string& sql);

    void run(const std::vector<std::string>& parameters);

private:
    struct Closer {
        void operator()(st_mysql_stmt* statement) const;
    };

    [[noreturn]] void give_up() const;

    std::string sql_;
    std::unique_ptr<st_mysql_stmt, Closer> statement_;
};

}  // namespace bench
