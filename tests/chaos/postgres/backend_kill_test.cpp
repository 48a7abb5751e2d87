// One server process dies by SIGKILL: PostgreSQL ends all connections, recovers, and forgets what
// is unlogged.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "chaos/kill_run.hpp"
#include "chaos/postgres/database.hpp"
#include "support/private_postgres.hpp"
#include "support/scale.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

// Some process that serves a child right now.
std::optional<pid_t> some_backend(const std::string& url) {
    const SqlRows rows =
        psql(url,
             "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND "
             "pid <> pg_backend_pid() AND backend_type = 'client backend' "
             "ORDER BY random() LIMIT 1");
    if (rows.empty()) return std::nullopt;
    return static_cast<pid_t>(std::stol(rows[0].at(0).value()));
}

bool answers(const std::string& url) {
    try {
        return psql(url, "SELECT 1").size() == 1;
    } catch (const SqlError&) {
        return false;
    }
}

TEST(PostgresBackendKillTest, RecoveryForgetsLeasesButNoMessage) {
    PrivatePostgres server(PrivatePostgres::Durability::durable);
    PostgresChaosDatabase database(server.server());
    open_schema(database.url())->deploy();
    database.sql("CREATE TABLE business_order (id text PRIMARY KEY)");
    const TempDir journals;
    KillRun run(database, journals.path(), 42);

    const std::uint64_t crashes = scaled(5, 2);
    for (std::uint64_t i = 0; i < crashes; ++i) {
        std::this_thread::sleep_for(400ms);
        std::optional<pid_t> victim;
        ASSERT_TRUE(
            wait_until([&] { return (victim = some_backend(database.url())).has_value(); }, 30s));
        server.kill_backend(*victim);
        // Not before the crash was noticed, or the old server may still answer.
        std::this_thread::sleep_for(100ms);
        ASSERT_TRUE(wait_until([&] { return answers(database.url()); }, 60s));
    }
    std::this_thread::sleep_for(300ms);
    const History history = run.finish();

    expect_promises_kept(fmt::format("{} server crashes", crashes), history, database, false);
    EXPECT_GT(history.confirmed(), 10U);
    EXPECT_FALSE(history.errors().empty()) << "no child noticed a crash";
}

}  // namespace
}  // namespace postroom::test
