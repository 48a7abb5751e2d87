// What an inbox sees come again, counted by source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "postroom/inbox.hpp"
#include "postroom/testing.hpp"
#include "queue/repeats.hpp"

namespace postroom::repeats_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ReceivedMessage message_of(const std::string& source, const std::string& id,
                           const std::string& content = "") {
    return {.topic = TopicName("t"),
            .source = source,
            .message_id = id,
            .payload = content,
            .hash = content_hash(content)};
}

TEST(Repeats, DuplicatesAndMismatchesAreCountedBySource) {
    MemoryStore store;
    const Inbox inbox(store);
    for (const std::string source : {"bank", "shop"}) inbox.enqueue(message_of(source, "1"));
    EXPECT_THAT(store.repeats(), IsEmpty());
    inbox.enqueue(message_of("shop", "1"));
    inbox.enqueue(message_of("shop", "1", "another content"));
    inbox.enqueue(message_of("shop", "2"));
    EXPECT_THAT(store.repeats(), ElementsAre(SourceRepeats{
                                     .source = "shop", .duplicates = 2, .hash_mismatches = 1}));
}

TEST(Repeats, WhatTookEffectBeforeIsADuplicateAndWhatWasOnlySeenIsNot) {
    MemoryStore store;
    const Inbox inbox(store);
    const InboxKey key{.source = "shop", .message_id = "1"};
    EXPECT_FALSE(inbox.already_processed(key));
    EXPECT_FALSE(inbox.already_processed(key));
    EXPECT_THAT(store.repeats(), IsEmpty());
    inbox.mark_processed(key);
    EXPECT_TRUE(inbox.already_processed(key));
    EXPECT_THAT(store.repeats(), ElementsAre(SourceRepeats{.source = "shop", .duplicates = 1}));
}

TEST(Repeats, SourcesBeyondTheLimitAreCountedTogether) {
    Repeats repeats;
    for (std::size_t i = 0; i < repeat_sources_max + 10; ++i)
        repeats.note(fmt::format("source-{:03}", i), Repeat::duplicate);
    repeats.note("source-000", Repeat::hash_mismatch);
    const std::vector<SourceRepeats> told = repeats.list();
    ASSERT_EQ(told.size(), repeat_sources_max + 1);
    EXPECT_EQ(told[0], (SourceRepeats{.source = "", .duplicates = 10}));
    EXPECT_EQ(told[1],
              (SourceRepeats{.source = "source-000", .duplicates = 1, .hash_mismatches = 1}));
}

}  // namespace
}  // namespace postroom::repeats_test
