// The SQLite driver below the store: values, transactions, locks, borrowed connections.
#include "backends/sqlite/driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "postroom/backend/sqlite.hpp"
#include "postroom/error.hpp"
#include "support/error_of.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite::driver_test {
namespace {

using namespace std::chrono_literals;
using sql::Bracket;
using sql::Params;
using sql::Statement;
using test::error_of;
using testing::HasSubstr;

Statement compile(std::string_view text) {
    return Statement::compile(text, sql::Placeholder::question);
}

// One file, as many connections as a test wants.
class SqliteDriver : public testing::Test {
protected:
    Driver open(Duration timeout = 30s) { return {path(), timeout}; }
    std::string path() const { return (directory_ / "driver.db").string(); }

    // The rows of one statement without parameters, through `driver`.
    static SqlRows rows(Driver& driver, const std::string& text) {
        return driver.execute({.sql = text, .params = {}});
    }
    static SqlRows one(const std::string& cell) { return {{cell}}; }

    static void run(Driver& driver, Bracket bracket, const std::vector<Statement>& statements,
                    const Params& params = {}, const sql::OnRow& on_row = {}) {
        std::vector<sql::Call> calls;
        for (const Statement& statement : statements) calls.push_back({&statement, &params});
        driver.run(bracket, calls, on_row);
    }

private:
    test::TempDir directory_;
};

TEST_F(SqliteDriver, WritesAheadAndFlushesEveryCommit) {
    Driver driver = open();
    EXPECT_EQ(rows(driver, "PRAGMA journal_mode"), one("wal"));
    EXPECT_EQ(rows(driver, "PRAGMA synchronous"), one("2"));
}

// Goal: what a statement before has changed, or has not, decides about one that would find nothing.
TEST_F(SqliteDriver, AStatementThatFindsNothingIsLeftOut) {
    Driver driver = open();
    run(driver, Bracket::transaction, {compile("CREATE TABLE t (n INTEGER)")});
    std::vector<Statement> statements{
        compile("INSERT INTO t VALUES (1)"),  compile("DELETE FROM t WHERE n = 2"),
        compile("INSERT INTO t VALUES (10)"), compile("INSERT INTO t VALUES (11)"),
        compile("INSERT INTO t VALUES (12)"), compile("INSERT INTO t VALUES (13)"),
        compile("INSERT INTO t VALUES (14)")};
    statements[2].skip = {.back = {2}, .if_changed = true};      // the first has: left out
    statements[3].skip = {.back = {2}, .if_changed = true};      // the second has not
    statements[4].skip = {.back = {3, 4}, .if_changed = false};  // the first has
    statements[5].skip = {.back = {4}, .if_changed = false};     // the second has not: left out
    statements[6].skip = {.back = {1, 4}, .if_changed = false};  // what was left out has not either
    run(driver, Bracket::transaction, statements);
    EXPECT_EQ(rows(driver, "SELECT group_concat(n) FROM (SELECT n FROM t ORDER BY n)"),
              one("1,11,12"));
}

// Goal: a run has one time, and it is that of the database.
TEST_F(SqliteDriver, TheTimeOfARunStandsStill) {
    Driver driver = open();
    std::vector<std::int64_t> times;
    run(driver, Bracket::separate,
        {compile("SELECT :run_now"), compile("SELECT :run_now"),
         compile("SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * "
                 "1000")},
        {}, [&](std::size_t, const sql::Row& row) {
            times.push_back(row.integer(0));
            std::this_thread::sleep_for(5ms);
        });
    ASSERT_EQ(times.size(), 3U);
    EXPECT_EQ(times[0], times[1]);
    EXPECT_EQ(times[0] % 1000, 0);
    EXPECT_GT(times[2], times[0]);
    EXPECT_LT(times[2], times[0] + 600'000'000);
}

TEST_F(SqliteDriver, ValuesComeBackAsTheyWentIn) {
    Driver driver = open();
    const std::string bytes("a\0b\xff", 4);
    const Uuid uuid{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255}};
    const Instant time{Duration{1'700'000'000'123'456}};
    Params params;
    params.set("number", std::numeric_limits<std::int64_t>::min())
        .set("text", std::string_view("Grüße"))
        .set("empty", std::string_view{})
        .set("blob", sql::BlobView{bytes})
        .set("empty_blob", sql::BlobView{})
        .set("uuid", uuid)
        .set("time", time)
        .set("none", {});
    int seen = 0;
    run(driver, Bracket::transaction,
        {compile("SELECT :number, :text, :empty, :blob, :empty_blob, :uuid, :time, :none, "
                 "typeof(:empty_blob), :text")},
        params, [&](std::size_t call, const sql::Row& row) {
            ++seen;
            EXPECT_EQ(call, 0U);
            EXPECT_EQ(row.integer(0), std::numeric_limits<std::int64_t>::min());
            EXPECT_EQ(row.text(1), "Grüße");
            EXPECT_EQ(row.text(2), "");
            EXPECT_FALSE(row.null(2));
            EXPECT_EQ(row.blob(3), bytes);
            EXPECT_EQ(row.blob(4), "");
            EXPECT_EQ(row.uuid(5), uuid);
            EXPECT_EQ(row.time(6), time);
            EXPECT_TRUE(row.null(7));
            EXPECT_EQ(row.text(7), "");
            EXPECT_EQ(row.text(8), "blob");
            EXPECT_EQ(row.text(9), "Grüße");
        });
    EXPECT_EQ(seen, 1);
}

TEST_F(SqliteDriver, IntegerArraysKeepAll64Bits) {
    Driver driver = open();
    const std::array<std::int64_t, 4> numbers{std::numeric_limits<std::int64_t>::min(), -1, 0,
                                              std::numeric_limits<std::int64_t>::max()};
    Params params;
    params.set("numbers", sql::IntArray(numbers));
    std::vector<std::int64_t> back;
    run(driver, Bracket::transaction,
        {compile("SELECT value FROM json_each(:numbers) WHERE typeof(value) = 'integer'")}, params,
        [&](std::size_t, const sql::Row& row) { back.push_back(row.integer(0)); });
    EXPECT_THAT(back, testing::ElementsAreArray(numbers));
}

TEST_F(SqliteDriver, AFailedTransactionLeavesNothing) {
    Driver driver = open();
    driver.execute_script("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    const Error error = error_of([&] {
        run(driver, Bracket::transaction,
            {compile("INSERT INTO t VALUES (1)"), compile("INSERT INTO t VALUES (1)")});
    });
    EXPECT_EQ(error.kind(), ErrorKind::rejected);
    EXPECT_FALSE(driver.in_transaction());
    EXPECT_TRUE(driver.healthy());
    EXPECT_EQ(rows(driver, "SELECT count(*) FROM t"), one("0"));
}

TEST_F(SqliteDriver, AFailedUnitInAJoinedTransactionLeavesTheRestOfIt) {
    Driver driver = open();
    driver.execute_script("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    driver.begin();
    driver.execute({.sql = "INSERT INTO t VALUES (?1)", .params = {std::int64_t{7}}});
    EXPECT_THROW(run(driver, Bracket::joined,
                     {compile("INSERT INTO t VALUES (1)"), compile("INSERT INTO t VALUES (7)")}),
                 Error);
    EXPECT_TRUE(driver.in_transaction());
    driver.commit();
    EXPECT_EQ(rows(driver, "SELECT id FROM t"), one("7"));
}

TEST_F(SqliteDriver, JoiningWithoutATransactionIsMisuse) {
    Driver driver = open();
    const Error error = error_of([&] { run(driver, Bracket::joined, {compile("SELECT 1")}); });
    EXPECT_EQ(error.kind(), ErrorKind::misuse);
}

TEST_F(SqliteDriver, SeparateStatementsMayBracketThemselves) {
    Driver driver = open();
    driver.execute_script("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    EXPECT_THROW(run(driver, Bracket::separate,
                     {compile("INSERT INTO t VALUES (1)"), compile("BEGIN IMMEDIATE"),
                      compile("INSERT INTO t VALUES (2)"), compile("INSERT INTO t VALUES (1)"),
                      compile("COMMIT")}),
                 Error);
    EXPECT_FALSE(driver.in_transaction());
    EXPECT_EQ(rows(driver, "SELECT id FROM t"), one("1"));
}

TEST_F(SqliteDriver, AWriterThatWaitsTooLongHasAConflict) {
    Driver holder = open();
    Driver other = open(50ms);
    holder.begin();
    const auto before = std::chrono::steady_clock::now();
    const Error error = error_of([&] { other.begin(); });
    EXPECT_GE(std::chrono::steady_clock::now() - before, 50ms);
    EXPECT_EQ(error.kind(), ErrorKind::conflict);
    EXPECT_TRUE(other.healthy());
    holder.rollback();
    other.begin();
    other.commit();
}

TEST_F(SqliteDriver, AWriterGetsItsTurnWhenTheOtherEnds) {
    Driver holder = open();
    Driver other = open();
    holder.begin();
    std::jthread releaser([&] {
        std::this_thread::sleep_for(50ms);
        holder.commit();
    });
    other.begin();
    other.commit();
}

TEST_F(SqliteDriver, ReadingDoesNotWaitForAWriter) {
    Driver holder = open();
    holder.execute_script("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    Driver reader = open(0s);
    holder.begin();
    holder.execute_script("INSERT INTO t VALUES (1)");
    std::vector<std::int64_t> counts;
    run(reader, Bracket::transaction,
        {compile("SELECT count(*) FROM t"), compile("SELECT count(*) FROM t")}, {},
        [&](std::size_t, const sql::Row& row) { counts.push_back(row.integer(0)); });
    EXPECT_THAT(counts, testing::ElementsAre(0, 0));
    holder.rollback();
}

TEST_F(SqliteDriver, ManyMayOpenANewFileAtOnce) {
    constexpr int thread_count = 10;
    std::vector<SqlRows> modes(thread_count);
    {
        std::vector<std::jthread> threads;
        for (SqlRows& mode : modes) {
            threads.emplace_back([&] {
                Driver driver = open(30s);
                mode = rows(driver, "PRAGMA journal_mode");
            });
        }
    }
    for (const SqlRows& mode : modes) EXPECT_EQ(mode, one("wal"));
}

TEST_F(SqliteDriver, ExecuteTakesOneStatementAndAllItsValues) {
    Driver driver = open();
    EXPECT_EQ(rows(driver, "SELECT 1; -- and no more"), one("1"));
    EXPECT_EQ(error_of([&] { rows(driver, "SELECT 1; SELECT 2"); }).kind(), ErrorKind::misuse);
    EXPECT_EQ(error_of([&] { rows(driver, "SELECT ?1"); }).kind(), ErrorKind::misuse);
    EXPECT_EQ(driver.execute({.sql = "SELECT ?1, ?2", .params = {std::monostate{}, Blob{"x"}}}),
              (SqlRows{{std::nullopt, "x"}}));
}

TEST_F(SqliteDriver, TheStatementCacheIsBounded) {
    Driver driver = open();
    sql::StatementCache<Prepared> cache(3, [&](const std::string& text) {
        return std::make_shared<Prepared>(driver.native(), text, true);
    });
    const auto first = cache.get("SELECT 1");
    for (int i = 2; i < 10; ++i) cache.get("SELECT " + std::to_string(i));
    EXPECT_EQ(cache.size(), 3U);
    first->run();  // still usable by the one who holds it
    EXPECT_EQ(cache.get("SELECT 9"), cache.get("SELECT 9"));
    cache.clear();
    EXPECT_EQ(cache.size(), 0U);
}

class BorrowedSqlite : public SqliteDriver {
protected:
    void SetUp() override { ASSERT_EQ(sqlite3_open(path().c_str(), &mine_), SQLITE_OK); }
    void TearDown() override { sqlite3_close(mine_); }
    void exec(const char* sql) {
        ASSERT_EQ(sqlite3_exec(mine_, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    }

    sqlite3* mine_ = nullptr;
};

TEST_F(BorrowedSqlite, NoStatementStaysOnTheConnection) {
    Driver driver(mine_);
    exec("CREATE TABLE t (id INTEGER PRIMARY KEY); BEGIN");
    EXPECT_TRUE(driver.in_transaction());
    run(driver, Bracket::joined, {compile("INSERT INTO t VALUES (1)"), compile("SELECT * FROM t")});
    EXPECT_EQ(sqlite3_next_stmt(mine_, nullptr), nullptr);
    EXPECT_THROW(
        run(driver, Bracket::joined, {compile("SELECT 1"), compile("INSERT INTO t VALUES (1)")}),
        Error);
    EXPECT_EQ(sqlite3_next_stmt(mine_, nullptr), nullptr);
    exec("COMMIT");
    EXPECT_FALSE(driver.in_transaction());
    EXPECT_EQ(sqlite3_close(mine_), SQLITE_OK);
    mine_ = nullptr;
}

TEST_F(BorrowedSqlite, WithPrepareTheyStayUntilItGoes) {
    exec("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    {
        Driver driver(mine_, {.prepare = true});
        const auto insert = compile("INSERT INTO t SELECT max(id) + 1 FROM t");
        for (int i = 0; i < 2; ++i) {
            exec("BEGIN");
            run(driver, Bracket::joined, {insert});
            exec("COMMIT");  // an open statement would not let it
        }
        sqlite3_stmt* const kept = sqlite3_next_stmt(mine_, nullptr);
        ASSERT_NE(kept, nullptr);
        EXPECT_EQ(sqlite3_next_stmt(mine_, kept), nullptr);
    }
    EXPECT_EQ(sqlite3_next_stmt(mine_, nullptr), nullptr);
}

TEST_F(BorrowedSqlite, SettingsOfTheConnectionStayTheCallers) {
    exec("CREATE TABLE t (id INTEGER PRIMARY KEY); PRAGMA synchronous = OFF");
    Driver driver(mine_);
    exec("BEGIN");
    run(driver, Bracket::joined, {compile("INSERT INTO t VALUES (1)"), compile("SELECT 1")});
    exec("ROLLBACK");
    EXPECT_EQ(rows(driver, "PRAGMA journal_mode"), one("delete"));
    EXPECT_EQ(rows(driver, "PRAGMA synchronous"), one("0"));
    EXPECT_EQ(rows(driver, "SELECT count(*) FROM t"), one("0"));
    // Extended result codes were off and still are.
    EXPECT_EQ(sqlite3_exec(mine_, "INSERT INTO t VALUES (2), (2)", nullptr, nullptr, nullptr),
              SQLITE_CONSTRAINT);
}

TEST_F(BorrowedSqlite, ABusyFileIsAConflictAtOnce) {
    Driver driver(mine_);
    exec("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    Driver holder = open();
    holder.begin();
    exec("BEGIN");
    EXPECT_EQ(error_of([&] {
                  run(driver, Bracket::joined, {compile("INSERT INTO t VALUES (1)")});
              }).kind(),
              ErrorKind::conflict);
    EXPECT_TRUE(driver.in_transaction());
    holder.rollback();
}

TEST_F(BorrowedSqlite, NullIsRefused) { EXPECT_THROW(borrow(nullptr), std::invalid_argument); }

}  // namespace
}  // namespace postroom::sqlite::driver_test
