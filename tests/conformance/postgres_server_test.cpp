// The servers the suite starts for itself: what the tests on them rely on.
#include "support/postgres_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/private_postgres.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

SqlRows one(const std::string& text) { return {{text}}; }

TEST(PostgresServer, IsVersion15InUtf8) {
    const PostgresServer server;
    EXPECT_THAT(psql(server.url("postgres"), "SHOW server_version").at(0).at(0).value(),
                testing::StartsWith("15."));
    EXPECT_EQ(psql(server.url("postgres"), "SHOW server_encoding"), one("UTF8"));
    EXPECT_EQ(psql(server.url("postgres"), "SHOW synchronous_commit"), one("on"));
}

TEST(PostgresServer, AMissingServerSaysHowToStartIt) {
    const TempDir empty;
    try {
        const PostgresServer server(empty.path());
        FAIL() << "found a server in an empty directory";
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("tests/servers/postgres.sh start"));
    }
}

TEST(PostgresDatabase, TwoDatabasesDoNotSeeEachOther) {
    const PostgresDatabase first;
    const PostgresDatabase second;
    first.psql("CREATE TABLE only_here (id int)");
    EXPECT_EQ(first.psql("SELECT count(*) FROM only_here"), one("0"));
    EXPECT_EQ(second.psql("SELECT to_regclass('only_here')"), (SqlRows{{std::nullopt}}));
}

TEST(PostgresDatabase, ThreadsCreateDatabasesAtTheSameTime) {
    constexpr int thread_count = 6;
    std::vector<SqlRows> answers(thread_count);
    {
        std::vector<std::jthread> threads;
        for (SqlRows& answer : answers) {
            threads.emplace_back([&answer] { answer = PostgresDatabase().psql("SELECT 42"); });
        }
    }
    for (const SqlRows& answer : answers) EXPECT_EQ(answer, one("42"));
}

TEST(PostgresDatabase, IsDroppedWithItsObject) {
    const PostgresServer server;
    std::string name;
    {
        const PostgresDatabase database(server);
        name = database.name();
        EXPECT_EQ(database.psql("SELECT current_database()"), one(name));
    }
    EXPECT_EQ(psql(server.url("postgres"),
                   "SELECT count(*) FROM pg_database WHERE datname = '" + name + "'"),
              one("0"));
}

TEST(PostgresDatabase, AFailedStatementCarriesItsSqlState) {
    const PostgresDatabase database;
    try {
        database.psql("SELECT 1/0");
        FAIL() << "divided by zero";
    } catch (const SqlError& error) {
        EXPECT_EQ(error.sqlstate(), "22012");
        EXPECT_THAT(error.what(), testing::HasSubstr("division by zero"));
    }
}

TEST(PgBouncer, PoolsTransactionsInFrontOfTheServer) {
    const PostgresDatabase database;
    const std::string pooled = database.via_pgbouncer_url();
    psql(pooled, "CREATE TABLE through_the_pool AS SELECT 1 AS id");
    EXPECT_EQ(database.psql("SELECT id FROM through_the_pool"), one("1"));
    // What makes the pooler worth testing through: a session setting outlives its client and meets
    // the next one, because the server connection stays.
    psql(pooled, "SET search_path = left_behind");
    EXPECT_EQ(psql(pooled, "SHOW search_path"), one("left_behind"));
}

TEST(PrivatePostgres, KeepsCommittedRowsAndItsAddressThroughACrash) {
    PrivatePostgres postgres;
    const PostgresDatabase database(postgres.server());
    database.psql("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS id");
    postgres.crash();
    EXPECT_THROW(database.psql("SELECT 1"), SqlError);
    postgres.resume();
    EXPECT_EQ(database.psql("SELECT count(*) FROM kept"), one("1000"));
}

TEST(PrivatePostgres, EndsOneBackendAndRefusesStrangers) {
    PrivatePostgres postgres;
    const PostgresDatabase database(postgres.server());
    std::string sqlstate;
    std::jthread victim([&] {
        try {
            database.psql("SELECT pg_sleep(60)");
        } catch (const SqlError& error) {
            sqlstate = error.sqlstate();
        }
    });
    SqlRows sleeping;
    ASSERT_TRUE(wait_until(
        [&] {
            sleeping =
                database.psql("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
            return !sleeping.empty();
        },
        60s));
    postgres.kill_backend(std::stoi(sleeping.at(0).at(0).value()), SIGTERM);
    victim.join();
    EXPECT_EQ(sqlstate, "57P01");
    EXPECT_THROW(postgres.kill_backend(1, SIGTERM), std::runtime_error);
}

TEST(PrivatePostgres, DoesNotOutliveAnOwnerThatCrashes) {
    const TempDir directory;
    ChildProcess owner({.program = "/bin/cat"});
    ChildProcess script({.program = POSTROOM_SOURCE_DIR "/tests/servers/postgres.sh",
                         .arguments = {"start", (directory / "postgres").string(), "fast",
                                       std::to_string(owner.pid())}});
    ASSERT_TRUE(script.wait(250s).value().success());
    const std::string url = PostgresServer(directory.path()).url("postgres");
    EXPECT_EQ(psql(url, "SELECT 1"), one("1"));
    owner.kill(SIGKILL);
    ASSERT_TRUE(owner.wait(60s).has_value());
    // The place of the data is the last thing that goes.
    EXPECT_TRUE(
        wait_until([&] { return !std::filesystem::exists(directory / "postgres/base"); }, 90s));
    EXPECT_THROW(psql(url, "SELECT 1"), SqlError);
}

}  // namespace
}  // namespace postroom::test
