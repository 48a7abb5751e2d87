// The first minute, as `postroom demo` shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "program/program.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::demo_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// What the demo leaves in its folder for temporary files, which is ours.
std::size_t left_in(const ProgramFolder& folder) {
    const std::filesystem::directory_iterator files(folder / "tmp");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

class Demo : public testing::Test {
protected:
    Demo() {
        std::filesystem::create_directory(folder / "tmp");
        folder.set("TMPDIR", (folder / "tmp").string());
    }

    ProgramFolder folder;
};

TEST_F(Demo, LosesNothingAndKeepsOffTheUsersSettings) {
    folder.set("POSTROOM_URL", "sqlite:mine.db");
    folder.set("POSTROOM_RELAY__LEASE", "nonsense");
    const Ran ran = folder.run({"demo", "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("\"dead\":1,\"lost\":0}"));
    EXPECT_THAT(ran.err, HasSubstr("1. The shop places orders"));
    EXPECT_THAT(ran.err, HasSubstr("answered 500"));
    EXPECT_LE(longest_line(ran.err.substr(0, ran.err.find("$ postroom"))), 80U) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "mine.db"));
    EXPECT_EQ(left_in(folder), 0U);
}

TEST_F(Demo, InterruptedItLeavesNothing) {
    ChildProcess demo = folder.start({"demo"});
    ASSERT_EQ(demo.read_line(60s), "");
    ASSERT_THAT(demo.read_line(60s).value_or(""), HasSubstr("1. The shop places orders"));
    demo.kill(SIGINT);
    EXPECT_EQ(demo.wait(60s), (ExitStatus{.code = 1, .signal = {}}));
    EXPECT_EQ(folder.read("err"), "postroom: interrupted\n");
    EXPECT_EQ(left_in(folder), 0U);
}

}  // namespace
}  // namespace postroom::test::demo_test
