// A database that was copied, as an operator meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "program/program_on.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::restore_program {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A shop whose relay has delivered one message, with another one that waits, and a copy of it.
class RestoreOn : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        folder.good({"migrate", "up"});
        enqueue("delivered");
        EXPECT_THAT(relay_once("sqlite:shop.db", 0), HasSubstr("\"delivered\":1"));
        enqueue("waits");
        std::filesystem::copy_file(folder / "shop.db", folder / "staging.db");
        folder.set("POSTROOM_URL", "sqlite:staging.db");
    }

    // What it logged.
    std::string relay_once(const std::string& url, int code) const {
        const Ran ran = folder.run({"relay", "--once", "--url", url});
        EXPECT_EQ(ran.code, code) << ran.err;
        return ran.err;
    }
};

TEST_P(RestoreOn, TheCopyIsHeldAndEverybodySaysSo) {
    EXPECT_THAT(relay_once("sqlite:staging.db", 3),
                AllOf(HasSubstr("delivery is held: this database is a copy"),
                      HasSubstr("postroom restore status"), HasSubstr("\"delivered\":0")));
    EXPECT_THAT(folder.good({"status"}), HasSubstr("delivery has been held for"));
    EXPECT_THAT(folder.good({"status", "--json"}), HasSubstr("\"hold\":{\"since\":\""));
    EXPECT_THAT(folder.good({"restore", "status"}),
                AllOf(HasSubstr("main: delivery has been held since 20"),
                      HasSubstr("postroom restore continue")));
    EXPECT_THAT(folder.good({"restore", "status", "--json"}),
                AllOf(HasSubstr("\"held\":true"), HasSubstr("shop.db\\u000ainode")));
    const Ran doctor = folder.run({"doctor", "--json"});
    EXPECT_EQ(doctor.code, 1);
    EXPECT_THAT(doctor.out, HasSubstr("\"check\":\"restore\",\"health\":\"bad\""));
    enqueue("taken all the same");
    EXPECT_THAT(relay_once("sqlite:shop.db", 0), HasSubstr("\"delivered\":1"));
}

TEST_P(RestoreOn, TheCopyIsKnownBeforeARelayHasLooked) {
    EXPECT_THAT(folder.good({"restore", "status"}),
                HasSubstr("delivery will be held by the next relay: this database is a copy"));
}

TEST_P(RestoreOn, ContinueDeliversWhatWaits) {
    relay_once("sqlite:staging.db", 3);
    EXPECT_EQ(folder.run({"restore", "continue"}).code, 2) << "there is nobody to ask";
    EXPECT_EQ(folder.good({"restore", "continue", "--dry-run"}),
              "main: 1 message would be delivered\n");
    EXPECT_EQ(folder.good({"restore", "continue", "--yes"}), "main: delivery goes on\n");
    EXPECT_THAT(relay_once("sqlite:staging.db", 0), HasSubstr("\"delivered\":1"));
    EXPECT_THAT(folder.good({"restore", "status"}), HasSubstr("last decision: continue by "));
    EXPECT_EQ(folder.good({"restore", "continue"}), "main: delivery was not held\n");
}

TEST_P(RestoreOn, DiscardSetsAsideAndRequeueBringsBack) {
    relay_once("sqlite:staging.db", 3);
    EXPECT_THAT(folder.on_terminal({"restore", "discard"}, "n").out,
                AllOf(HasSubstr("set aside 1 message of store 'main', and deliver the rest?"),
                      HasSubstr("nothing was done")));
    EXPECT_EQ(folder.good({"restore", "discard", "--dry-run"}),
              "main: 1 message would be set aside\n");
    EXPECT_THAT(folder.good({"restore", "discard", "--yes", "--json"}),
                HasSubstr("\"decision\":\"discard\",\"was_held\":true,\"matched\":1,\"changed\":1,"
                          "\"left\":0,\"delivers\":true,\"dry_run\":false"));
    EXPECT_THAT(relay_once("sqlite:staging.db", 0), HasSubstr("\"delivered\":0"));
    EXPECT_THAT(folder.good({"list", "--state", "dead", "--json"}),
                HasSubstr("\"dead_reason\":\"restored\""));
    const Ran again = folder.run({"restore", "discard", "--yes"});
    EXPECT_EQ(again.code, 1);
    EXPECT_THAT(again.err, HasSubstr("is not held; nothing was done"));
    EXPECT_EQ(folder.good({"restore", "requeue", "--yes"}),
              "main: 1 message requeued; delivery was not held\n");
    EXPECT_THAT(relay_once("sqlite:staging.db", 0), HasSubstr("\"delivered\":1"));
}

TEST_P(RestoreOn, DiscardTakesATimeBeforeWhichMessagesCount) {
    relay_once("sqlite:staging.db", 3);
    EXPECT_EQ(folder.run({"restore", "discard", "--before", "yesterday"}).code, 2);
    EXPECT_EQ(folder.good({"restore", "discard", "--before", "2001-01-01T00:00:00Z", "--yes"}),
              "main: 0 messages set aside; delivery goes on\n");
    EXPECT_THAT(relay_once("sqlite:staging.db", 0), HasSubstr("\"delivered\":1"));
}

TEST_P(RestoreOn, ARelayThatRunsHeedsAHoldByHandAndItsEnd) {
    ChildProcess relay = folder.start({"relay", "--url", "sqlite:shop.db"});
    ASSERT_TRUE(wait_for_log("\"event\":\"RELAY_READY\""));
    EXPECT_EQ(folder.good({"restore", "hold", "--url", "sqlite:shop.db"}),
              "main: delivery is held\n");
    EXPECT_EQ(folder.good({"restore", "hold", "--url", "sqlite:shop.db"}),
              "main: delivery was held already\n");
    // It looks every few seconds: something that comes before is delivered, so it is given some
    // until it says that it holds.
    EXPECT_TRUE(wait_until(
        [&] {
            folder.good({"enqueue", "late", "--payload", "{}", "--url", "sqlite:shop.db"});
            return folder.read("err").find("delivery is held: held by ") != std::string::npos;
        },
        std::chrono::seconds{90}, std::chrono::milliseconds{500}));
    folder.good({"restore", "continue", "--yes", "--url", "sqlite:shop.db"});
    folder.good({"enqueue", "after", "--payload", "{}", "--url", "sqlite:shop.db"});
    EXPECT_TRUE(wait_until([&] { return one_value("SELECT count(*) FROM outbox_live") == "0"; },
                           std::chrono::seconds{90}));
    EXPECT_TRUE(stop(relay));
}

TEST_P(RestoreOn, ARelayWithoutTheGuardDeliversFromACopy) {
    const Ran ran = folder.run({"relay", "--once", "--set", "relay.restore_guard=false"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("\"delivered\":1"), Not(HasSubstr("held"))));
}

TEST_P(RestoreOn, AStateFolderThatCannotBeWrittenIsAWarning) {
    const Ran ran = folder.run(
        {"relay", "--once", "--url", "sqlite:shop.db", "--set", "relay.state_dir=/nowhere/at/all"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("/nowhere/at/all: cannot write there"));
}

INSTANTIATE_TEST_SUITE_P(Sqlite, RestoreOn, testing::Values("sqlite"));

}  // namespace
}  // namespace postroom::test::restore_program
