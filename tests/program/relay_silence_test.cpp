// A relay whose database is away, or silent: what it says, and that it ends when it is asked to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <future>

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

    // Ends the relay by SIGTERM, and soon: drain_timeout and 5 s are 10 s, but for a machine that
    // stands still.
    void expect_forced_end() {
        relay->kill(SIGTERM);
        const auto begun = std::chrono::steady_clock::now();
        const std::optional<ExitStatus> status = relay->wait(patience);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 60s);
        ASSERT_TRUE(status);
        EXPECT_EQ(status->code, static_cast<int>(cli::ExitCode::unavailable));
        expect_log("RELAY_STOP_FORCED");
        EXPECT_LE(figure("after_ms"), 10000);
    }

    // Whether commits wait for a standby: the server heeds its settings some time after it was
    // told to. The commit is of nothing that stays, and its wait is ended.
    bool a_commit_waits() const {
        const auto committed = std::async(std::launch::async, [this] {
            psql(url, "SELECT pg_logical_emit_message(true, 'probe', '')");
        });
        bool waited = false;
        while (committed.wait_for(20ms) != std::future_status::ready) {
            try {
                waited = !psql(url,
                               "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                               "WHERE wait_event = 'SyncRep' AND query LIKE '%emit_message%'")
                              .empty() ||
                         waited;
            } catch (const SqlError&) {
                // Again, or the commit waits for ever.
            }
        }
        return waited;
    }

    // Of the first line that has it.
    long figure(const std::string& called) const {
        const std::string log = folder.read("err");
        const std::string name = '"' + called + "\":";
        const std::size_t at = log.find(name);
        return at == std::string::npos ? -1 : std::stol(log.substr(at + name.size()));
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
    ASSERT_TRUE(wait_until([&] { return a_commit_waits(); }, patience));
    psql(url,
         "SET synchronous_commit = local; SELECT infra.outbox_enqueue('t', '1'::jsonb, "
         "ordering_key => 'k')");
    expect_log("\"event\":\"OUTBOX_STORE_WAIT\"");
    EXPECT_GE(figure("unanswered_ms"), 10'000);
    expect_forced_end();
    expect_log("RELAY_STOP_WAITS");
}

}  // namespace
}  // namespace postroom::test::relay_silence_test
