// The server dies by SIGKILL under those who enqueue, claim and settle, and comes back.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "chaos/kill_run.hpp"
#include "chaos/mysql/database.hpp"
#include "support/private_mariadb.hpp"
#include "support/scale.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST(MariadbServerKillTest, TwentyKillsOfTheServerLoseNothing) {
    PrivateMariadb server(PrivateMariadb::Durability::durable);
    MariadbChaosDatabase database(server.server());
    open_schema(database.url())->deploy();
    database.sql("CREATE TABLE business_order (id varchar(64) PRIMARY KEY)");
    const TempDir journals;
    KillRun run(database, journals.path(), 42);
    run.children().await_ready();

    const std::uint64_t crashes = scaled(20, 4);
    for (std::uint64_t i = 0; i < crashes; ++i) {
        // Not always at the same moment of what the children do.
        std::this_thread::sleep_for(200ms + i * 37 % 200 * 1ms);
        server.crash_restart();
    }
    EXPECT_TRUE(wait_until([&] { return History(journals.path()).confirmed() > 10 * crashes; }, 60s,
                           300ms));
    const History history = run.finish();

    // Leases are rows like all others here, and outlive the server.
    expect_promises_kept(fmt::format("{} server crashes", crashes), history, database, true);
    EXPECT_FALSE(history.errors().empty()) << "no child noticed a crash";
}

}  // namespace
}  // namespace postroom::test
