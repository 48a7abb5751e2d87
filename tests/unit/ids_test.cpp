#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <unordered_set>

#include "postroom/clock.hpp"
#include "postroom/error.hpp"
#include "postroom/ids.hpp"

namespace postroom::ids_test {
namespace {

TEST(WorkItemId, SurvivesTheWayThroughUuidAndText) {
    for (const WorkItemId id : {WorkItemId{}, WorkItemId{1, 2}, WorkItemId{17, ~std::uint64_t{0}},
                                WorkItemId{WorkItemId::seq_max, 0x0123456789abcdef}}) {
        EXPECT_EQ(WorkItemId::from(id.uuid()), id);
        EXPECT_EQ(WorkItemId::parse(id.to_string()), id);
    }
}

TEST(WorkItemId, TextIsAUuidOfVersion8) {
    const std::string text = WorkItemId{42, 7}.to_string();
    ASSERT_EQ(text.size(), 36u);
    EXPECT_EQ(text[14], '8');
}

TEST(WorkItemId, RefusesWhatWeDidNotMake) {
    EXPECT_EQ(WorkItemId::parse(""), std::nullopt);
    EXPECT_EQ(WorkItemId::parse("42"), std::nullopt);
    EXPECT_EQ(WorkItemId::parse("9f1c3f6e-54c5-4a9e-8d8a-0c3b0a9d6f11"), std::nullopt);
    EXPECT_EQ(WorkItemId::from(Uuid{}), std::nullopt);
}

TEST(WorkItemId, HasNoUuidForASeqThatDoesNotFit) {
    EXPECT_THROW(static_cast<void>(WorkItemId(WorkItemId::seq_max + 1, 0).uuid()),
                 std::out_of_range);
}

TEST(WorkItemId, SameSeqWithAnotherNonceIsAnotherId) {
    const std::unordered_set<WorkItemId> ids{{1, 1}, {1, 2}, {2, 1}, {1, 1}};
    EXPECT_EQ(ids.size(), 3u);
}

TEST(OwnerToken, GeneratedTokensDifferAndAreNeverNil) {
    std::set<OwnerToken> tokens;
    for (int i = 0; i < 1000; ++i) tokens.insert(OwnerToken::generate());
    EXPECT_EQ(tokens.size(), 1000u);
    EXPECT_FALSE(tokens.contains(OwnerToken{}));
}

TEST(ErrorKind, EveryKindHasItsName) {
    EXPECT_EQ(to_string(ErrorKind::unavailable), "unavailable");
    EXPECT_EQ(to_string(ErrorKind::conflict), "conflict");
    EXPECT_EQ(to_string(ErrorKind::outcome_unknown), "outcome_unknown");
    EXPECT_EQ(to_string(ErrorKind::rejected), "rejected");
    EXPECT_EQ(to_string(ErrorKind::misuse), "misuse");
}

TEST(SystemClock, ShowsTheTimeOfDay) {
    const auto before = std::chrono::floor<Duration>(std::chrono::system_clock::now());
    const Instant now = SystemClock{}.now();
    EXPECT_GE(now, before);
    EXPECT_LE(now, std::chrono::system_clock::now());
}

}  // namespace
}  // namespace postroom::ids_test
