#include "admin/dead_letters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/http/live_events.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"

namespace postroom::dead_letters_test {
namespace {

using admin::common_error;
using admin::DeadLetters;

TEST(DeadLetters, AnErrorWithoutWhatDiffers) {
    EXPECT_EQ(common_error("timeout after 30000 ms for order 'a-7'"),
              "timeout after # ms for order '#'");
    EXPECT_EQ(common_error("no row 0f3a-77 in \"x\""), "no row # in \"#\"");
    EXPECT_EQ(common_error("HTTP 503 of http://a"), "HTTP 503 of http://a");
    EXPECT_EQ(common_error("it's broken"), "it's broken");
    EXPECT_EQ(common_error(""), "");
}

void let_die(Store& store, const std::string& topic, const std::string& error) {
    Outbox(store).enqueue({.topic = topic, .payload = "1"});
    const std::vector<Message> claimed =
        store.claim(Queue::outbox, {.owner = OwnerToken::generate()});
    ASSERT_EQ(claimed.size(), 1U);
    const std::vector<Settlement> settlements{
        {.lease = *claimed[0].lease, .outcome = Outcome::fail, .error = error}};
    store.settle(nullptr, Queue::outbox, settlements);
}

TEST(DeadLetters, AreGroupedByCauseTheLargestFirst) {
    MemoryStore store({.store_id = "main"});
    let_die(store, "a", "customer 17 is unknown");
    let_die(store, "a", "HTTP 503");
    let_die(store, "b", "customer 4711 is unknown");
    const DeadLetters letters = admin::dead_letters(store, Queue::outbox);
    ASSERT_EQ(letters.groups.size(), 2U);
    EXPECT_EQ(letters.examined, 3U);
    EXPECT_TRUE(letters.complete);
    const admin::DeadLetterGroup& first = letters.groups[0];
    EXPECT_EQ(first.count, 2U);
    EXPECT_EQ(first.error, "customer # is unknown");
    EXPECT_EQ(first.newest.last_error, "customer 4711 is unknown");
    EXPECT_EQ(first.topics, (std::map<std::string, std::uint64_t>{{"a", 1}, {"b", 1}}));
    EXPECT_EQ(first.fingerprint, admin::fingerprint_of(first.newest));
    EXPECT_EQ(first.fingerprint.size(), 16U);
    EXPECT_NE(first.fingerprint, letters.groups[1].fingerprint);
}

TEST(DeadLetters, AreCountedByTheHourOfTheirDeath) {
    using namespace std::chrono_literals;
    ManualClock clock;
    MemoryStore store(clock);
    let_die(store, "a", "broken");
    clock.advance(22h + 30min);
    let_die(store, "a", "broken");
    let_die(store, "a", "broken");
    clock.advance(1h);
    const DeadLetters recent = admin::dead_letters(store, Queue::outbox);
    ASSERT_EQ(recent.groups.size(), 1U);
    std::array<std::uint64_t, 24> expected{};
    expected[0] = 1;   // 23 hours and a half ago
    expected[22] = 2;  // an hour ago
    EXPECT_EQ(recent.groups[0].deaths_by_hour, expected);
    clock.advance(1h);
    expected[0] = 0;  // over a day ago: only in the count
    std::swap(expected[21], expected[22]);
    const DeadLetters later = admin::dead_letters(store, Queue::outbox);
    EXPECT_EQ(later.groups[0].deaths_by_hour, expected);
    EXPECT_EQ(later.groups[0].count, 3U);
}

TEST(DeadLetters, AreLookedAtUpToALimit) {
    MemoryStore store({.store_id = "main"});
    for (int i = 0; i < 501; ++i) let_die(store, "a", "broken");
    const DeadLetters letters = admin::dead_letters(store, Queue::outbox, 500);
    EXPECT_EQ(letters.examined, 500U);
    EXPECT_FALSE(letters.complete);
}

TEST(LiveEvents, GoOnWhereAReaderWas) {
    admin::LiveEvents events;
    events.publish("a", "1");
    const std::string first = events.after(0).text;
    const std::string id = first.substr(4, first.find('\n') - 4);
    EXPECT_THAT(first, testing::HasSubstr("event: a\ndata: 1\n\n"));
    events.publish("b", "2");
    EXPECT_THAT(events.begin(id).text, testing::HasSubstr("event: b\ndata: 2\n\n"));
    EXPECT_THAT(events.begin(id).text, testing::Not(testing::HasSubstr("event: a")));
    EXPECT_EQ(events.begin("").text, "");
    EXPECT_EQ(events.begin("").position, 2U);
}

TEST(LiveEvents, AnIdThatIsNotKeptLeadsToAReset) {
    admin::LiveEvents events;
    events.publish("a", "1");
    const std::string first = events.after(0).text;
    const std::string id = first.substr(4, first.find('\n') - 4);
    const std::string run = id.substr(0, id.find('-'));
    for (const std::string& strange :
         {std::string("0000000000000000-1"), std::string("x"), run + "-", run + "-9", run + "-1x"})
        EXPECT_THAT(events.begin(strange).text, testing::HasSubstr("event: reset")) << strange;
    for (int i = 0; i < 600; ++i) events.publish("a", "2");
    EXPECT_THAT(events.begin(id).text, testing::HasSubstr("event: reset"));
}

}  // namespace
}  // namespace postroom::dead_letters_test
