// One server process dies by SIGKILL: PostgreSQL ends all connections, recovers, and forgets what
// is unlogged.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

#include "chaos/kill_run.hpp"
#include "chaos/postgres/database.hpp"
#include "support/private_postgres.hpp"
#include "support/scale.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

// SIGKILL to some process that serves a child right now; which one it was, if there was one.
std::optional<pid_t> kill_some_backend(PrivatePostgres& server, const std::string& url) {
    const SqlRows rows =
        psql(url,
             "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND "
             "pid <> pg_backend_pid() AND backend_type = 'client backend' "
             "ORDER BY random() LIMIT 1");
    if (rows.empty()) return std::nullopt;
    const auto victim = static_cast<pid_t>(std::stol(rows[0].at(0).value()));
    try {
        server.kill_backend(victim);
    } catch (const std::runtime_error&) {
        return std::nullopt;  // it has ended by itself
    }
    return victim;
}

// The server has noticed the end of a process when that is no child of it any more; from then on
// nobody is let in before the recovery.
bool noticed(PrivatePostgres& server, pid_t victim) {
    try {
        constexpr int none = 0;
        server.kill_backend(victim, none);
        return false;
    } catch (const std::runtime_error&) {
        return true;
    }
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
    run.children().await_ready();

    const std::uint64_t crashes = scaled(5, 2);
    for (std::uint64_t i = 0; i < crashes; ++i) {
        std::this_thread::sleep_for(400ms);
        std::optional<pid_t> victim;
        ASSERT_TRUE(wait_until(
            [&] { return (victim = kill_some_backend(server, database.url())).has_value(); }, 60s));
        // Before that the old server may still answer.
        ASSERT_TRUE(wait_until([&] { return noticed(server, *victim); }, 60s));
        ASSERT_TRUE(wait_until([&] { return answers(database.url()); }, 60s));
    }
    EXPECT_TRUE(wait_until([&] { return History(journals.path()).confirmed() > 10; }, 60s, 300ms));
    const History history = run.finish();

    expect_promises_kept(fmt::format("{} server crashes", crashes), history, database, false);
    EXPECT_FALSE(history.errors().empty()) << "no child noticed a crash";
}

}  // namespace
}  // namespace postroom::test
