// The chaos tests on SQL Server, where a user has named one.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <thread>

#include "chaos/chaos_test.hpp"
#include "chaos/kill_run.hpp"
#include "support/scale.hpp"
#include "support/sqlserver_server.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

class SqlServerChaosDatabase final : public ChaosDatabase {
public:
    const std::string& url() const override { return database_.url(); }
    SqlRows sql(const std::string& text) override { return database_.sql(text); }
    std::string table(const std::string& name) const override { return "[infra].[" + name + "]"; }
    // The server checks its pages by itself; what an account like ours may ask is whether its
    // tables can be read.
    std::vector<std::string> damage() override {
        sql("SELECT COUNT_BIG(*) FROM [infra].[outbox_message]; "
            "SELECT COUNT_BIG(*) FROM [infra].[inbox_message]");
        return {};
    }

private:
    SqlServerDatabase database_;
};

std::vector<ChaosPlace> places() {
    if (!sqlserver_url()) return {};
    return {{.name = "SqlServer", .kills = 50, .patience = 60s, .make = [] {
                 return std::make_unique<SqlServerChaosDatabase>();
             }}};
}

// The command that restarts the server, if the user has named one.
std::vector<std::string> restarts() {
    const char* const command = std::getenv("POSTROOM_TEST_SQLSERVER_RESTART");
    if (!sqlserver_url() || command == nullptr) return {};
    return {command};
}

std::string name_of(const testing::TestParamInfo<ChaosPlace>& info) { return info.param.name; }

#define POSTROOM_SQLSERVER_CHAOS(suite) \
    INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(places()), name_of)
POSTROOM_SQLSERVER_CHAOS(KillTest);
POSTROOM_SQLSERVER_CHAOS(ClaimRaceTest);
POSTROOM_SQLSERVER_CHAOS(InboxOnceTest);
POSTROOM_SQLSERVER_CHAOS(DispatcherProcessTest);

class SqlServerRestart : public testing::TestWithParam<std::string> {};

TEST_P(SqlServerRestart, TenRestartsOfTheServerLoseNothing) {
    SqlServerChaosDatabase database;
    open_schema(database.url())->deploy();
    database.sql("CREATE TABLE business_order (id varchar(64) PRIMARY KEY)");
    const TempDir journals;
    KillRun run(database, journals.path(), 42);
    run.children().await_ready();
    constexpr std::uint64_t count = 10;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t confirmed = History(journals.path()).confirmed();
        wait_until([&] { return History(journals.path()).confirmed() > confirmed; }, 60s, 50ms);
        // Not always at the same moment of what the children do.
        std::this_thread::sleep_for(i * 137ms);
        ASSERT_EQ(std::system(GetParam().c_str()), 0) << GetParam();
    }
    EXPECT_TRUE(
        wait_until([&] { return History(journals.path()).confirmed() > 5 * count; }, 120s, 300ms));
    const History history = run.finish();
    expect_promises_kept(fmt::format("{} restarts of the server", count), history, database, true);
    EXPECT_FALSE(history.errors().empty()) << "no child noticed a restart";
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlServerRestart);
INSTANTIATE_TEST_SUITE_P(SqlServer, SqlServerRestart, testing::ValuesIn(restarts()));

}  // namespace
}  // namespace postroom::test
