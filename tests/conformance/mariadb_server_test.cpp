// The MariaDB that the suite starts for itself: what the tests on it rely on.
#include "support/mariadb_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/private_mariadb.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

SqlRows single(const std::string& text) { return {{text}}; }

TEST(MariadbServer, IsVersion1011AndKeepsWhatItConfirmed) {
    const std::string root = MariadbServer().root_url();
    EXPECT_THAT(mariadb_sql(root, "SELECT version()").at(0).at(0).value(),
                testing::StartsWith("10.11."));
    // Not 0, with which a commit may be lost when the server is killed.
    EXPECT_EQ(mariadb_sql(root, "SELECT @@innodb_flush_log_at_trx_commit"), single("2"));
}

TEST(MariadbServer, AMissingServerSaysHowToStartIt) {
    const TempDir empty;
    try {
        const MariadbServer server(empty.path());
        FAIL() << "found a server in an empty directory";
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("tests/servers/mariadb.sh start"));
    }
}

TEST(MariadbDatabase, TwoDatabasesDoNotSeeEachOther) {
    const MariadbDatabase first;
    const MariadbDatabase second;
    first.sql("CREATE TABLE only_here (id int)");
    EXPECT_EQ(first.sql("SELECT count(*) FROM only_here"), single("0"));
    EXPECT_THAT(second.sql("SHOW TABLES"), testing::IsEmpty());
}

TEST(MariadbDatabase, ThreadsCreateDatabasesAtTheSameTime) {
    constexpr int thread_count = 6;
    std::vector<SqlRows> answers(thread_count);
    {
        std::vector<std::jthread> threads;
        for (SqlRows& answer : answers) {
            threads.emplace_back([&answer] { answer = MariadbDatabase().sql("SELECT 42"); });
        }
    }
    for (const SqlRows& answer : answers) EXPECT_EQ(answer, single("42"));
}

TEST(MariadbDatabase, IsDroppedWithItsObjectThoughATransactionIsOpen) {
    const MariadbServer server;
    std::string name;
    std::jthread idle;
    {
        const MariadbDatabase database(server);
        name = database.name();
        database.sql("CREATE TABLE used (id int)");
        idle = std::jthread([url = database.url()] {
            EXPECT_THROW(mariadb_sql(url, "BEGIN; INSERT INTO used VALUES (1); SELECT sleep(120)"),
                         MariadbError);
        });
        const auto sleeps = [&] {
            return !mariadb_sql(server.root_url(),
                                "SELECT 1 FROM information_schema.processlist WHERE db = '" + name +
                                    "' AND state = 'User sleep'")
                        .empty();
        };
        ASSERT_TRUE(wait_until(sleeps, 60s));
    }
    EXPECT_THAT(mariadb_sql(server.root_url(), "SHOW DATABASES LIKE '" + name + "'"),
                testing::IsEmpty());
}

TEST(MariadbDatabase, ItsAccountHasRightsOnNothingElse) {
    const MariadbDatabase database;
    try {
        database.sql("SELECT * FROM mysql.user");
        FAIL() << "read the accounts";
    } catch (const MariadbError& error) {
        constexpr unsigned denied = 1142;
        EXPECT_EQ(error.code(), denied);
        EXPECT_EQ(error.sqlstate(), "42000");
    }
}

TEST(PrivateMariadb, KeepsCommittedRowsAndItsAddressThroughACrash) {
    PrivateMariadb mariadb;
    const MariadbDatabase database(mariadb.server());
    database.sql("CREATE TABLE kept AS SELECT seq FROM seq_1_to_1000");
    mariadb.crash();
    EXPECT_THROW(database.sql("SELECT 1"), MariadbError);
    mariadb.resume();
    EXPECT_EQ(database.sql("SELECT count(*) FROM kept"), single("1000"));
}

TEST(PrivateMariadb, DoesNotOutliveAnOwnerThatCrashes) {
    const TempDir directory;
    ChildProcess owner({.program = "/bin/cat"});
    ChildProcess script({.program = POSTROOM_SOURCE_DIR "/tests/servers/mariadb.sh",
                         .arguments = {"start", (directory / "mariadb").string(), "fast",
                                       std::to_string(owner.pid())}});
    ASSERT_TRUE(script.wait(250s).value().success());
    const std::string url = MariadbServer(directory.path()).root_url();
    EXPECT_EQ(mariadb_sql(url, "SELECT 1"), single("1"));
    owner.kill(SIGKILL);
    ASSERT_TRUE(owner.wait(60s).has_value());
    // The place of the data is the last thing that goes.
    EXPECT_TRUE(
        wait_until([&] { return !std::filesystem::exists(directory / "mariadb/base"); }, 90s));
    EXPECT_THROW(mariadb_sql(url, "SELECT 1"), MariadbError);
}

}  // namespace
}  // namespace postroom::test
