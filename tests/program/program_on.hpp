// ProgramOn: the program on a database of its own, for each kind there is.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "postroom/transaction.hpp"
#include "program/program.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {

// A folder whose program finds an empty database by POSTROOM_URL. The parameter: sqlite, postgres,
// mariadb.
class ProgramOn : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override;

    // Runs a statement without the program; returns the rows of the last one.
    SqlRows sql(const std::string& text) const;
    std::string one_value(const std::string& query) const;
    // What a library opens.
    std::string url() const;
    bool on(const std::string& kind) const { return GetParam() == kind; }

    // Everything of the database that has a name.
    SqlRows objects() const;

    // Returns the id of the row.
    std::string enqueue(const std::string& topic, const std::vector<std::string>& more = {}) const;
    // A message whose topic nobody takes, and a relay that gives up on such at once.
    std::string enqueue_dead(const std::string& topic) const;
    // Of the log of what was started last.
    bool wait_for_log(const std::string& part, std::size_t times = 1) const;
    static bool stop(ChildProcess& child);
    // In every state, unless the filter has --state.
    std::size_t listed(const std::vector<std::string>& filter = {}) const;

    ProgramFolder folder;

private:
    std::unique_ptr<PostgresDatabase> postgres_;
#ifdef POSTROOM_TEST_MYSQL
    std::unique_ptr<MariadbDatabase> mariadb_;
#endif
};

}  // namespace postroom::test

// Runs the tests of a suite on each kind of database, which is the first part of their names.
#ifdef POSTROOM_TEST_MYSQL
#define POSTROOM_ON_ALL_DATABASES(suite)                                    \
    INSTANTIATE_TEST_SUITE_P(Sqlite, suite, testing::Values("sqlite"));     \
    INSTANTIATE_TEST_SUITE_P(Postgres, suite, testing::Values("postgres")); \
    INSTANTIATE_TEST_SUITE_P(Mariadb, suite, testing::Values("mariadb"))
#else
#define POSTROOM_ON_ALL_DATABASES(suite)                                \
    INSTANTIATE_TEST_SUITE_P(Sqlite, suite, testing::Values("sqlite")); \
    INSTANTIATE_TEST_SUITE_P(Postgres, suite, testing::Values("postgres"))
#endif
