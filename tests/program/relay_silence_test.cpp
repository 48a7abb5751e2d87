// A relay whose database is away, or silent: what it says, and that it ends when it is asked to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "cli/exit_code.hpp"
#include "program/program.hpp"
#include "support/private_postgres.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::relay_silence_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::chrono::seconds patience = 120s;

class RelaySilence : public testing::Test {
protected:
    RelaySilence() {
        folder.set("POSTROOM_URL", url);
        folder.good({"migrate", "up"});
        relay.emplace(folder.start({"relay"}));
        expect_log("RELAY_READY");
    }

    void expect_log(const std::string& part) const {
        EXPECT_TRUE(wait_until([&] { return logged(part) > 0; }, patience))
            << part << " in " << folder.read("err");
    }
    std::size_t logged(const std::string& part) const { return count_of(folder.read("err"), part); }

    // Ends the relay by SIGTERM, and soon: drain_timeout and 5 s are 10 s, but for the load of the
    // machine.
    void expect_forced_end() {
        relay->kill(SIGTERM);
        const auto begun = std::chrono::steady_clock::now();
        const std::optional<ExitStatus> status = relay->wait(patience);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
        ASSERT_TRUE(status);
        EXPECT_EQ(status->code, static_cast<int>(cli::ExitCode::unavailable));
        expect_log("RELAY_STOP_FORCED");
    }

    PrivatePostgres postgres;
    const std::string url = postgres.server().create_database();
    ProgramFolder folder;
    std::optional<ChildProcess> relay;
};

TEST_F(RelaySilence, AnOutageIsOneErrorInTheLogAndOneLineWhenItIsOver) {
    postgres.crash();
    expect_log("OUTBOX_STORE_FAIL");
    std::this_thread::sleep_for(8s);
    EXPECT_EQ(logged("\"level\":\"ERROR\""), 1U) << folder.read("err");
    EXPECT_EQ(logged("\"level\":\"WARNING\",\"event\":\"OUTBOX_"), 0U) << folder.read("err");
    postgres.resume();
    expect_log("OUTBOX_STORE_BACK");
    psql(url, "SELECT infra.outbox_enqueue('t', '1'::jsonb)");
    EXPECT_THAT(relay->read_line(patience).value_or(""), HasSubstr("\"topic\":\"t\""));
}

TEST_F(RelaySilence, AFrozenServerDoesNotKeepTheRelayFromEnding) {
    struct Thaw {
        PrivatePostgres& postgres;
        ~Thaw() { postgres.thaw(); }
    };
    postgres.freeze();
    const Thaw thaw{postgres};
    expect_forced_end();
}

// Goal: the log says what a stalled relay waits for, and the relay ends all the same.
// Method: commits wait for a standby that there is none of. The outcome of a message with an
// ordering key is one that waits for them.
TEST_F(RelaySilence, ACommitThatWaitsForAStandbyIsToldOfAndDoesNotKeepTheRelayFromEnding) {
    psql(url, "ALTER SYSTEM SET synchronous_standby_names = 'absent'");
    psql(url, "SELECT pg_reload_conf()");
    psql(url,
         "SET synchronous_commit = local; SELECT infra.outbox_enqueue('t', '1'::jsonb, "
         "ordering_key => 'k')");
    expect_log("\"event\":\"OUTBOX_STORE_WAIT\"");
    EXPECT_THAT(folder.read("err"), HasSubstr("\"unanswered_ms\":1"));
    expect_forced_end();
    expect_log("RELAY_STOP_WAITS");
}

}  // namespace
}  // namespace postroom::test::relay_silence_test
