// How SQLite runs a claim: along its indexes, in their order, and no further than the batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/driver.hpp"
#include "postroom/backend/sqlite.hpp"
#include "sql/names.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

class SqlitePlan : public testing::TestWithParam<Queue> {
protected:
    void SetUp() override { open_schema(path_)->deploy(); }

    // The statements of a claim, with the names and placeholders put in.
    std::vector<sql::Statement> claim_statements() const {
        const sql::Dialect dialect = make_dialect();
        const sql::UnitText& text =
            (GetParam() == Queue::outbox ? dialect.outbox_queue : dialect.inbox_queue).claim;
        std::vector<sql::Statement> out;
        const sql::Expander expander(dialect.vocabulary, names_, GetParam());
        for (std::size_t i = 0; i < text.statements.size(); ++i) {
            out.push_back(
                sql::Statement::compile(expander.expand(text.statements[i]), dialect.placeholder));
            out.back().skip = text.skips[i];
        }
        return out;
    }

    // The plans of all statements of a claim, line by line.
    std::vector<std::string> plan_lines() {
        std::vector<std::string> lines;
        for (const sql::Statement& statement : claim_statements()) {
            const std::vector<SqlValue> none(statement.names.size());
            for (const auto& row :
                 driver_.execute({.sql = "EXPLAIN QUERY PLAN " + statement.sql, .params = none})) {
                lines.push_back(row.at(3).value());
            }
        }
        return lines;
    }

    // Steps of SQLite's virtual machine that one claim takes: its work, whatever the machine.
    std::int64_t claim_steps(std::int64_t lease_id) {
        const std::vector<sql::Statement> statements = claim_statements();
        sql::Params params;
        params.set("owner", Uuid{{1}})
            .set("lease_id", lease_id)
            .set("lease_us", std::int64_t{60'000'000})
            .set("batch", std::int64_t{10})
            .set("urgent_to", std::int64_t{10})
            .set("keyed_to", std::int64_t{2})
            .set("due_to", std::int64_t{5})
            .set("low_to", std::int64_t{0})
            .set("keyed_again_to", std::int64_t{10});
        std::vector<sql::Call> calls;
        for (const sql::Statement& statement : statements) calls.push_back({&statement, &params});
        claimed_ = 0;
        driver_.run(sql::Bracket::separate, calls,
                    [this](std::size_t, const sql::Row&) { ++claimed_; });
        std::int64_t steps = 0;
        passes_ = 0;
        for (sqlite3_stmt* s = sqlite3_next_stmt(driver_.native(), nullptr); s != nullptr;
             s = sqlite3_next_stmt(driver_.native(), s)) {
            steps += sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 1);
            const int runs = sqlite3_stmt_status(s, SQLITE_STMTSTATUS_RUN, 1);
            const std::string_view sql = sqlite3_sql(s);
            if (sql.starts_with("INSERT") && sql.find("ordering_key) SELECT") != sql.npos)
                passes_ += runs;
        }
        return steps;
    }

    std::string table(const std::string& suffix) const {
        return names_.of(GetParam()).str() + "_" + suffix;
    }

    // Rows that a claim must not even look at: deferred, dead, retrying later.
    void park(int count, int from = 0) {
        // Their numbers were never drawn.
        driver_.execute_script("DROP TRIGGER IF EXISTS " + table("waiting_guard"));
        const std::string into_waiting =
            "WITH RECURSIVE n(i) AS (SELECT " + std::to_string(from + 1) +
            " UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(count) + ") INSERT INTO " +
            table("waiting");
        driver_.execute_script(
            into_waiting +
            " (seq, nonce, state, priority, available_at, created_at, message_id, topic, source, "
            "payload) "
            "SELECT 1000000 + i, i, CASE i % 3 WHEN 0 THEN 3 ELSE 0 END, i % 2 - 1, "
            "CASE i % 3 WHEN 0 THEN 0 ELSE 9000000000000000 END, 0, 'parked-' || i, 'parked', 's', "
            "x'00' FROM n");
        // And as many whose time has come, behind the first of their ordering key, which is dead.
        driver_.execute_script(
            into_waiting +
            " (seq, nonce, state, available_at, created_at, message_id, topic, source, "
            "ordering_key, payload) "
            "SELECT 2000000 + i, i, CASE i WHEN 1 THEN 3 ELSE 0 END, 0, 0, 'line-' || i, 'line', "
            "'s', 'blocked', x'00' FROM n");
    }

    void add_live(int count, int from = 0) {
        driver_.execute_script("WITH RECURSIVE n(i) AS (SELECT " + std::to_string(from + 1) +
                               " UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(count) +
                               ") INSERT INTO " + table("live") +
                               " (topic, payload, message_id, priority" +
                               (GetParam() == Queue::inbox ? ", source) " : ") ") +
                               "SELECT 'live', x'00', 'live-' || i, i % 2" +
                               (GetParam() == Queue::inbox ? ", 's' FROM n" : " FROM n"));
    }

    void analyze() { driver_.execute_script("ANALYZE"); }

    int claimed() const { return claimed_; }
    int passes() const { return passes_; }  // that the last claim went through

private:
    const test::TempDir directory_;
    const std::string path_ = (directory_ / "plan.db").string();
    const sql::Names names_{OpenOptions{}};
    Driver driver_{path_, 5s};
    int claimed_ = 0;
    int passes_ = 0;
};

constexpr int parked_count = 100'000;

// Goal: no statement of a claim reads a table from end to end or sorts it.
// Method: ask for the plans, with tables empty and with 100,000 parked rows, with and without
// statistics.
TEST_P(SqlitePlan, AClaimNeitherScansNorSorts) {
    const auto expect_searches_only = [this] {
        const std::vector<std::string> lines = plan_lines();
        EXPECT_GT(lines.size(), 10U);
        EXPECT_THAT(lines, Each(Not(HasSubstr("SCAN"))));
        EXPECT_THAT(lines, Each(Not(HasSubstr("TEMP B-TREE"))));
    };
    expect_searches_only();
    park(parked_count);
    expect_searches_only();
    analyze();
    expect_searches_only();
}

// Goal: parked rows cost a claim nothing, and neither does a long queue.
// Method: count the steps of a claim beside few and beside 100,000 of both.
TEST_P(SqlitePlan, TheWorkOfAClaimDoesNotGrowWithTheTables) {
    add_live(100);
    park(10);
    const std::int64_t beside_few = claim_steps(1);
    EXPECT_EQ(claimed(), 10);
    park(parked_count, 10);
    add_live(parked_count, 100);
    const std::int64_t beside_many = claim_steps(2);
    EXPECT_EQ(claimed(), 10);
    // The leases of the first claim are stepped over: a handful of steps for each.
    EXPECT_LT(beside_many, beside_few + 1000);
}

// Goal: a claim ends when its batch is full, and leaves out passes without a share.
// Method: as long as there are urgent messages, they fill the batch. After that urgent, keyed, due
// and fresh ones are looked for; the low ones have no share, and what comes behind the fresh ones
// finds the batch full.
TEST_P(SqlitePlan, AFullBatchEndsTheClaim) {
    add_live(100);
    for (std::int64_t lease_id = 1; lease_id <= 5; ++lease_id) {
        claim_steps(lease_id);
        EXPECT_EQ(claimed(), 10);
        EXPECT_EQ(passes(), 1);
    }
    claim_steps(6);
    EXPECT_EQ(claimed(), 10);
    EXPECT_EQ(passes(), 4);
}

INSTANTIATE_TEST_SUITE_P(Queues, SqlitePlan, testing::Values(Queue::outbox, Queue::inbox),
                         [](const auto& queue) { return std::string(to_string(queue.param)); });

}  // namespace
}  // namespace postroom::sqlite
