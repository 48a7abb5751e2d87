// The tools the tests themselves stand on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::support_test {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s;

ChildOptions shell(const std::string& script) {
    return {.program = "/bin/sh", .arguments = {"-c", script}};
}

// Sets an environment variable for the length of one test.
class ScopedVariable {
public:
    ScopedVariable(const char* name, const char* value) : name_(name) {
        if (const char* previous = std::getenv(name)) previous_ = previous;
        if (value == nullptr) {
            ::unsetenv(name);
        } else {
            ::setenv(name, value, 1);
        }
    }
    ~ScopedVariable() {
        if (previous_) {
            ::setenv(name_, previous_->c_str(), 1);
        } else {
            ::unsetenv(name_);
        }
    }
    ScopedVariable(const ScopedVariable&) = delete;
    ScopedVariable& operator=(const ScopedVariable&) = delete;

private:
    const char* name_;
    std::optional<std::string> previous_;
};

bool process_exists(pid_t pid) { return ::kill(pid, 0) == 0; }

TEST(ChildProcess, LinesArriveInOrderAndTheLastNeedsNoLineEnd) {
    ChildProcess child(shell("printf 'one\\n\\nthree'"));
    EXPECT_EQ(child.read_line(patience), "one");
    EXPECT_EQ(child.read_line(patience), "");
    EXPECT_EQ(child.read_line(patience), "three");
    EXPECT_EQ(child.read_line(patience), std::nullopt);
    EXPECT_EQ(child.wait(patience), (ExitStatus{.code = 0, .signal = std::nullopt}));
}

TEST(ChildProcess, ReadLineGivesUpAfterItsTimeout) {
    ChildProcess child(shell("printf unfinished; read line"));
    EXPECT_EQ(child.read_line(50ms), std::nullopt);
    EXPECT_TRUE(child.running());
}

TEST(ChildProcess, ExitCodeAndSignalAreToldApart) {
    ChildProcess exits(shell("exit 7"));
    EXPECT_EQ(exits.wait(patience), (ExitStatus{.code = 7, .signal = std::nullopt}));
    ChildProcess killed(shell("read line"));
    killed.kill(SIGKILL);
    EXPECT_EQ(killed.wait(patience), (ExitStatus{.code = std::nullopt, .signal = SIGKILL}));
    EXPECT_FALSE(killed.running());
}

TEST(ChildProcess, InputReachesTheChild) {
    ChildProcess child({.program = "/bin/cat"});
    child.write_line("hello");
    EXPECT_EQ(child.read_line(patience), "hello");
    child.close_input();
    EXPECT_TRUE(child.wait(patience).value().success());
}

TEST(ChildProcess, WritingToAnEndedChildThrows) {
    ChildProcess child(shell("exit 0"));
    ASSERT_TRUE(child.wait(patience).has_value());
    EXPECT_THROW(child.write_line("hello"), std::system_error);
}

TEST(ChildProcess, EnvironmentIsAddedToOurs) {
    const ScopedVariable kept("POSTROOM_SUPPORT_KEPT", "ours");
    const ScopedVariable replaced("POSTROOM_SUPPORT_REPLACED", "ours");
    ChildOptions options = shell("echo $POSTROOM_SUPPORT_KEPT $POSTROOM_SUPPORT_REPLACED");
    options.environment = {{"POSTROOM_SUPPORT_REPLACED", "the child's"}};
    ChildProcess child(options);
    EXPECT_EQ(child.read_line(patience), "ours the child's");
}

TEST(ChildProcess, StandardErrorIsMergedOnRequest) {
    ChildOptions options = shell("echo oops >&2");
    options.merge_stderr = true;
    ChildProcess child(options);
    EXPECT_EQ(child.read_all(patience), "oops\n");
}

TEST(ChildProcess, AStoppedChildStandsStillAndContinues) {
    ChildProcess child({.program = "/bin/cat"});
    child.write_line("before");
    ASSERT_EQ(child.read_line(patience), "before");
    child.kill(SIGSTOP);
    child.write_line("after");
    EXPECT_EQ(child.read_line(100ms), std::nullopt);
    EXPECT_TRUE(child.running());
    child.kill(SIGCONT);
    EXPECT_EQ(child.read_line(patience), "after");
}

TEST(ChildProcess, WaitDoesNotHangOnMoreOutputThanAPipeHolds) {
    ChildProcess child(shell("head -c 1000000 /dev/zero"));
    ASSERT_TRUE(child.wait(patience).has_value());
    EXPECT_EQ(child.read_all(patience).size(), 1'000'000U);
}

TEST(ChildProcess, WaitReportsAChildThatStillRuns) {
    ChildProcess child(shell("read line"));
    EXPECT_EQ(child.wait(20ms), std::nullopt);
}

TEST(ChildProcess, TheDestructorLeavesNoProcessBehind) {
    pid_t pid = 0;
    {
        ChildProcess child({.program = "/bin/cat"});
        pid = child.pid();
        child.kill(SIGSTOP);
        ASSERT_TRUE(process_exists(pid));
    }
    EXPECT_FALSE(process_exists(pid));
}

TEST(ChildProcess, MovingHandsTheChildOver) {
    ChildProcess first({.program = "/bin/cat"});
    ChildProcess second(std::move(first));
    second.write_line("still here");
    EXPECT_EQ(second.read_line(patience), "still here");
}

TEST(ChildProcess, AMissingProgramThrowsWithItsPath) {
    try {
        ChildProcess child({.program = "/nowhere/program"});
        FAIL() << "started a program that does not exist";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), ENOENT);
        EXPECT_THAT(error.what(), testing::HasSubstr("/nowhere/program"));
    }
}

TEST(ProgramPath, FindsAProgramOfThisBuildAndNamesThePlacesOtherwise) {
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    EXPECT_TRUE(std::filesystem::equivalent(program_path(self.filename().string()), self));
    try {
        program_path("no_such_program");
        FAIL() << "found a program that does not exist";
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(),
                    testing::HasSubstr((self.parent_path() / "no_such_program").string()));
    }
}

TEST(TempDir, IsEmptyPrivateAndRemovedWithItsContents) {
    std::filesystem::path path;
    {
        const TempDir first;
        const TempDir second;
        path = first.path();
        EXPECT_NE(first.path(), second.path());
        EXPECT_TRUE(std::filesystem::is_empty(path));
        EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
        std::filesystem::create_directory(first / "folder");
        std::ofstream(first / "folder/file") << "content";
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TempDir, FollowsTmpdir) {
    const TempDir parent;
    const ScopedVariable tmpdir("TMPDIR", parent.path().c_str());
    const TempDir child;
    EXPECT_EQ(child.path().parent_path(), parent.path());
}

TEST(LoadScale, IsATenthUnlessSet) {
    const ScopedVariable unset("POSTROOM_TEST_SCALE", nullptr);
    EXPECT_DOUBLE_EQ(load_scale(), 0.1);
    EXPECT_EQ(scaled(200'000, 1), 20'000U);
    EXPECT_EQ(scaled(100, 25), 25U);
}

TEST(LoadScale, OneIsTheFullLoad) {
    const ScopedVariable full("POSTROOM_TEST_SCALE", "1");
    EXPECT_EQ(scaled(200'000, 1), 200'000U);
}

TEST(LoadScale, RefusesWhatIsNoPositiveNumber) {
    for (const char* text : {"0", "-1", "full", "0.5x", "nan", "inf"}) {
        const ScopedVariable wrong("POSTROOM_TEST_SCALE", text);
        EXPECT_THROW(load_scale(), std::invalid_argument) << text;
    }
}

TEST(WaitUntil, ReturnsAsSoonAsThePredicateHolds) {
    int asked = 0;
    EXPECT_TRUE(wait_until([&] { return ++asked == 3; }, 10s, 1ms));
    EXPECT_EQ(asked, 3);
}

TEST(WaitUntil, AsksOnceMoreAfterTheTimeIsUp) {
    int asked = 0;
    EXPECT_FALSE(wait_until([&] { return ++asked < 0; }, 0ms));
    EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace postroom::test::support_test
