// Changes of a database told by its files, those within one tick of the clock included.
#include "backends/sqlite/file_watch.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "backends/sqlite/driver.hpp"
#include "postroom/error.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t second_ns = 1'000'000'000;
// Not a whole second, so it is not taken for a coarse clock.
constexpr std::int64_t written_ns = 1'000 * second_ns + 4'000'000;
constexpr Instant at_write{std::chrono::microseconds{written_ns / 1'000}};

DatabaseTrace trace(std::int64_t log_bytes, std::int64_t log_ns = written_ns) {
    return {.file = {.device = 1, .inode = 2, .bytes = 4096, .written_ns = second_ns + 1},
            .log = {.device = 1, .inode = 3, .bytes = log_bytes, .written_ns = log_ns}};
}

TEST(ChangeJudge, TheFirstLookIsAChangeAndTheSameTraceIsNone) {
    ChangeJudge judge;
    EXPECT_TRUE(judge.changed(trace(10), at_write + 1min));
    EXPECT_FALSE(judge.changed(trace(10), at_write + 2min));
}

TEST(ChangeJudge, SizeTimeAndIdentityOfEitherFileCount) {
    ChangeJudge judge;
    Instant now = at_write + 1min;
    judge.changed(trace(10), now);
    EXPECT_TRUE(judge.changed(trace(20), now += 1s));
    EXPECT_TRUE(judge.changed(trace(20, written_ns + 1), now += 1s));
    DatabaseTrace replaced = trace(20, written_ns + 1);
    replaced.file.inode = 9;
    EXPECT_TRUE(judge.changed(replaced, now += 1s));
    EXPECT_FALSE(judge.changed(replaced, now += 1s));
}

TEST(ChangeJudge, WhatWasWrittenInTheTickOfTheLookIsReportedOnceMoreWhenTheTickIsOver) {
    ChangeJudge judge;
    judge.changed(trace(10), at_write - 1min);
    // Seen right after the write: another one in the same tick would leave no trace.
    EXPECT_TRUE(judge.changed(trace(20), at_write + 1ms));
    EXPECT_FALSE(judge.changed(trace(20), at_write + 20ms));
    EXPECT_TRUE(judge.changed(trace(20), at_write + 60ms));
    EXPECT_FALSE(judge.changed(trace(20), at_write + 120ms));
}

TEST(ChangeJudge, AFileSystemWithWholeSecondsIsGivenTwoOfThem) {
    ChangeJudge judge;
    constexpr std::int64_t whole = 2'000 * second_ns;
    constexpr Instant at{std::chrono::microseconds{whole / 1'000}};
    EXPECT_TRUE(judge.changed(trace(10, whole), at + 1s));
    EXPECT_FALSE(judge.changed(trace(10, whole), at + 1500ms));
    EXPECT_TRUE(judge.changed(trace(10, whole), at + 2s));
    EXPECT_FALSE(judge.changed(trace(10, whole), at + 3s));
}

TEST(ChangeJudge, ATimeFarInTheFutureIsNoReasonToRingForEver) {
    ChangeJudge judge;
    EXPECT_TRUE(judge.changed(trace(10), at_write - 1h));
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(judge.changed(trace(10), at_write - 1h));
}

TEST(ChangeJudge, ALogThatGoesIsAChangeOnlyTogetherWithTheFile) {
    ChangeJudge judge;
    Instant now = at_write + 1min;
    DatabaseTrace seen = trace(10);
    judge.changed(seen, now);
    seen.log = {};
    EXPECT_FALSE(judge.changed(seen, now += 1s));
    EXPECT_TRUE(judge.changed(trace(10), now += 1s)) << "another one is there";
    seen.file.written_ns += 1;
    EXPECT_TRUE(judge.changed(seen, now += 1s)) << "what it held came into the file";
}

class FileWatchTest : public testing::Test {
protected:
    FileWatchTest() : path((directory / "store.db").string()) {
        writer = std::make_unique<Driver>(path, 5s);
        writer->execute_script("CREATE TABLE business (id INTEGER)");
    }
    // Looks until it is quiet, by looks and not by the clock, so that a machine that stands still
    // leaves none out; how often it said that something changed.
    int rings(FileWatch& watch) {
        int count = 0;
        for (int looks = 0; looks < 50; ++looks) {
            if (watch.changed()) ++count;
            std::this_thread::sleep_for(5ms);
        }
        return count;
    }

    test::TempDir directory;
    std::string path;
    std::unique_ptr<Driver> writer;
};

TEST_F(FileWatchTest, EveryCommitIsNoticedAndSilenceIsSilent) {
    FileWatch watch(path);
    rings(watch);
    EXPECT_EQ(rings(watch), 0);
    for (int i = 0; i < 5; ++i) {
        writer->execute_script("INSERT INTO business VALUES (1)");
        EXPECT_GE(rings(watch), 1) << i;
    }
}

TEST_F(FileWatchTest, ACommitThatOverwritesTheBeginningOfTheLogIsNoticed) {
    writer->execute_script("INSERT INTO business VALUES (1); INSERT INTO business VALUES (2)");
    FileWatch watch(path);
    writer->execute({.sql = "PRAGMA wal_checkpoint(RESTART)", .params = {}});
    rings(watch);
    const auto size = std::filesystem::file_size(path + "-wal");
    writer->execute_script("INSERT INTO business VALUES (3)");
    ASSERT_EQ(std::filesystem::file_size(path + "-wal"), size);
    EXPECT_GE(rings(watch), 1);
}

TEST_F(FileWatchTest, AConnectionThatOnlyReadsAndGoesLeavesSilence) {
    writer.reset();
    FileWatch watch(path);
    rings(watch);
    {
        Driver reader(path, 5s);
        reader.execute({.sql = "SELECT count(*) FROM business", .params = {}});
        reader.execute_script("BEGIN IMMEDIATE; DELETE FROM business WHERE id = 99; COMMIT");
        EXPECT_EQ(rings(watch), 0);
    }
    EXPECT_EQ(rings(watch), 0);
}

TEST_F(FileWatchTest, ALogThatIsInTheFileAlreadyGoesInSilence) {
    FileWatch watch(path);
    writer->execute_script("INSERT INTO business VALUES (1)");
    writer->execute({.sql = "PRAGMA wal_checkpoint(PASSIVE)", .params = {}});
    rings(watch);
    writer.reset();
    ASSERT_FALSE(std::filesystem::exists(path + "-wal"));
    EXPECT_EQ(rings(watch), 0);
}

TEST_F(FileWatchTest, ACommitWhoseLogIsGoneBeforeTheNextLookIsNoticed) {
    writer.reset();
    FileWatch watch(path);
    for (int i = 0; i < 5; ++i) {
        rings(watch);
        Driver(path, 5s).execute_script("INSERT INTO business VALUES (1)");
        ASSERT_FALSE(std::filesystem::exists(path + "-wal"));
        EXPECT_GE(rings(watch), 1) << i;
    }
}

// SQLite follows the link, and writes its log beside the file.
TEST_F(FileWatchTest, ACommitIsNoticedThroughASymbolicLink) {
    const std::string link = (directory / "link.db").string();
    std::filesystem::create_symlink(path, link);
    FileWatch watch(link);
    rings(watch);
    writer->execute_script("INSERT INTO business VALUES (1)");
    EXPECT_GE(rings(watch), 1);
}

TEST_F(FileWatchTest, AMissingFileIsUnavailableAndNoLogIsNone) {
    FileWatch missing((directory / "later.db").string());
    EXPECT_THROW(missing.changed(), Error);
    writer.reset();
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
    FileWatch watch(path);
    EXPECT_TRUE(watch.changed());
}

}  // namespace
}  // namespace postroom::sqlite
