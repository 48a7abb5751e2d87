// `postroom torture` in a user's database: it finds every promise kept, and leaves everything as it
// was.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "program/program_on.hpp"
#include "support/scale.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::torture_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class TortureOn : public ProgramOn {};

TEST_P(TortureOn, FindsEveryPromiseKeptAndLeavesTheUsersQueuesAsTheyWere) {
    folder.good({"migrate", "up"});
    enqueue("order.placed");
    const SqlRows before = objects();
    const std::string seconds = std::to_string(scaled(60, 6));
    const std::string verdict = folder.good(
        {"torture", "--seconds", seconds, "--seed", "42", "--page", "verdict.md", "--json"});
    EXPECT_THAT(verdict, HasSubstr("\"kept\":true"));
    EXPECT_THAT(verdict, HasSubstr("\"seed\":42"));
    for (const char* act : {"queue", "redelivery", "dispatch"})
        EXPECT_THAT(verdict, HasSubstr("{\"name\":\"" + std::string(act) + "\""));
    for (const char* nothing : {"\"kills\":0,", "\"enqueued\":0,", "\"effects\":0,"})
        EXPECT_EQ(count_of(verdict, nothing), 0U) << verdict;
    EXPECT_THAT(verdict, HasSubstr("\"poison_dead\":2"));
    fmt::print("{}", verdict);  // for the page of evidence
    const std::string page = folder.read("verdict.md");
    EXPECT_THAT(page, HasSubstr("# Torture: every promise was kept"));
    EXPECT_THAT(page, HasSubstr("--seed 42`"));
    EXPECT_EQ(page.find("unknown"), std::string::npos) << page;  // the server's version
    EXPECT_EQ(objects(), before);
    EXPECT_EQ(listed({"--state", "ready"}), 1U);
    folder.good({"migrate", "status"});  // nothing pending, no drift
}

TEST_P(TortureOn, InterruptedItLeavesAnEmptyDatabaseEmpty) {
    const SqlRows before = objects();
    ChildProcess torture = folder.start({"torture", "--seconds", "600"});
    ASSERT_TRUE(wait_until([&] { return objects() != before; }, 90s));
    torture.kill(SIGTERM);
    EXPECT_EQ(torture.wait(90s), (ExitStatus{.code = 1, .signal = {}}));
    EXPECT_EQ(folder.read("err"), "postroom: interrupted\n");
    EXPECT_EQ(objects(), before);
}

TEST_P(TortureOn, OptionsAreChecked) {
    const Ran seconds = folder.run({"torture", "--seconds", "0"});
    EXPECT_EQ(seconds.code, 2);
    EXPECT_THAT(seconds.err, HasSubstr("--seconds must be a whole number from 1 to 86400"));
    const Ran lease = folder.run({"torture", "--lease", "2h"});
    EXPECT_EQ(lease.code, 2);
    EXPECT_THAT(lease.err, HasSubstr("--lease must be a duration from 50ms to 1m"));
    const SqlRows before = objects();
    EXPECT_THAT(folder.good({"torture", "--dry-run"}), HasSubstr("would create, fill and remove"));
    EXPECT_EQ(objects(), before);
}

POSTROOM_ON_ALL_DATABASES(TortureOn);

}  // namespace
}  // namespace postroom::test::torture_test
