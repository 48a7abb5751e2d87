// What counts as a sign of a restore, and what is remembered for it.
#include "postroom/restore.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sql/epoch_memory.hpp"
#include "support/temp_dir.hpp"

namespace postroom::restore_unit_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

StoreHome at(const std::string& place, const std::string& here, std::uint64_t epoch = 5) {
    return {.incarnation = "one", .epoch = epoch, .place = place, .here = here};
}

TEST(SignOfRestore, OneMarkInCommonIsTheSamePlace) {
    EXPECT_FALSE(sign_of_restore(at("file /a\ninode 1", "file /a\ninode 1")));
    EXPECT_FALSE(sign_of_restore(at("file /a\ninode 1", "file /b\ninode 1"))) << "renamed";
    EXPECT_FALSE(sign_of_restore(at("file /a\ninode 1", "file /a\ninode 2"))) << "moved disks";
    EXPECT_THAT(sign_of_restore(at("file /a\ninode 1", "file /b\ninode 2")).value_or(""),
                HasSubstr("it was at file /a, inode 1, and is at file /b, inode 2"));
}

TEST(SignOfRestore, APlaceThatTellsNothingIsNoSign) {
    EXPECT_FALSE(sign_of_restore(at("", "file /b")));
    EXPECT_FALSE(sign_of_restore(at("file /a", "")));
}

TEST(SignOfRestore, AStoreThatNobodyHasNamedIsNew) {
    EXPECT_FALSE(sign_of_restore({.epoch = 0, .place = "file /a", .here = "file /b"}, 7));
}

TEST(SignOfRestore, AnEpochBelowTheRememberedOneIs) {
    EXPECT_FALSE(sign_of_restore(at("a", "a", 5), 5));
    EXPECT_THAT(sign_of_restore(at("a", "a", 5), 6).value_or(""),
                HasSubstr("its epoch is 5, and was 6 before"));
}

constexpr Instant start{1'000'000s};

TEST(EpochMemory, AnEpochCountsOnceItHasStoodForAsLongAsAsked) {
    const test::TempDir folder;
    sql::EpochMemory memory(folder.path().string(), 10min);
    memory.note("one", 3, start);
    memory.note("one", 4, start + 9min);
    EXPECT_FALSE(memory.of("one"));
    memory.note("one", 5, start + 10min);
    EXPECT_EQ(memory.of("one"), 3U);
    memory.note("one", 5, start + 20min);
    EXPECT_EQ(memory.of("one"), 5U);
}

// Workers that live for a minute each, as those of a scheduler.
TEST(EpochMemory, OutlivesTheProcessWithItsCandidate) {
    const test::TempDir folder;
    sql::EpochMemory(folder.path().string(), 10min).note("one", 3, start);
    sql::EpochMemory(folder.path().string(), 10min).note("one", 4, start + 10min);
    EXPECT_EQ(sql::EpochMemory(folder.path().string(), 10min).of("one"), 3U);
    EXPECT_FALSE(sql::EpochMemory(folder.path().string(), 10min).of("another"));
}

TEST(EpochMemory, AnEpochThatAFailOverLostIsNoCandidateAnyMore) {
    const test::TempDir folder;
    sql::EpochMemory memory(folder.path().string(), 10min);
    memory.note("one", 9, start);
    memory.note("one", 8, start + 1min);
    memory.note("one", 8, start + 10min);
    EXPECT_FALSE(memory.of("one"));
    memory.note("one", 8, start + 11min);
    EXPECT_EQ(memory.of("one"), 8U);
}

TEST(EpochMemory, WithoutAFolderNothingIsRemembered) {
    sql::EpochMemory memory("", Duration::zero());
    memory.note("one", 3, start);
    EXPECT_FALSE(memory.of("one"));
}

TEST(EpochMemory, AFolderThatIsNotThereIsNoError) {
    sql::EpochMemory memory("/nowhere/at/all", Duration::zero());
    EXPECT_NO_THROW(memory.note("one", 3, start));
}

}  // namespace
}  // namespace postroom::restore_unit_test
