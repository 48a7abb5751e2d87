#include "admin/dead_letters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/bulk.hpp"
#include "admin/http/live_events.hpp"
#include "admin/json_view.hpp"
#include "conformance/forwarding_store.hpp"
#include "postroom/inbox.hpp"
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

// Goal: no search goes round in circles. Method: more of them than a page holds, which no cursor
// can tell apart, before one that was queued.
TEST(DeadLetters, OfMessagesThatWereNeverQueuedEndEverySearch) {
    MemoryStore store;
    const Inbox inbox(store);
    for (int i = 0; i < 1'200; ++i) {
        const InboxKey key{.source = "shop", .message_id = std::to_string(i)};
        ASSERT_FALSE(inbox.already_processed(key));
        ASSERT_TRUE(inbox.mark_dead(key, "x"));
    }
    const std::vector<Message> dead = store.find(Queue::inbox, {.state = State::dead, .limit = 1});
    ASSERT_EQ(dead.at(0).id.seq(), 0U);
    const std::string fingerprint = admin::fingerprint_of(dead.at(0));
    EXPECT_EQ(admin::count_matching(store, Queue::inbox, admin::Change::redrive, {}, fingerprint),
              0U);
    EXPECT_EQ(admin::change_matching(store, Queue::inbox, admin::Change::redrive, {}).changed, 0U);
    for (const bool newest_first : {true, false}) {
        const FoundPage found = admin::find_group(
            store, Queue::inbox, {.newest_first = newest_first, .limit = 10}, fingerprint);
        EXPECT_TRUE(found.messages.empty());
        EXPECT_FALSE(found.next_seq);
    }
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

// Counts how often it is searched.
class SearchedStore final : public test::ForwardingStore {
public:
    using ForwardingStore::ForwardingStore;
    std::vector<Message> find(Queue queue, const Query& query) override {
        ++searches;
        return ForwardingStore::find(queue, query);
    }
    int searches = 0;
};

class DeadLetterGroupTest : public testing::Test {
protected:
    // One of two causes, the numbers of the messages beginning with 1.
    void let_die_of(const std::string& error, int times) {
        for (int i = 0; i < times; ++i) let_die(memory, "a", error + std::to_string(1000 + i));
    }
    std::string fingerprint(const std::string& error) {
        return admin::fingerprint_of(
            memory.find(Queue::outbox, {.error_part = error, .limit = 1}).at(0));
    }
    std::vector<std::string> errors_of(const FoundPage& page) const {
        std::vector<std::string> out;
        for (const Message& message : page.messages) out.push_back(message.last_error);
        return out;
    }

    MemoryStore memory{{.store_id = "main"}};
    SearchedStore store{memory};
};

TEST_F(DeadLetterGroupTest, IsFoundPageByPageAmongOthers) {
    let_die_of("no customer ", 2);
    let_die_of("HTTP 503 for ", 600);
    let_die_of("no customer ", 1);
    const std::string wanted = fingerprint("customer");
    Query query{.newest_first = true, .limit = 2};
    const FoundPage first = admin::find_group(store, Queue::outbox, query, wanted);
    EXPECT_THAT(errors_of(first), testing::ElementsAre("no customer 1000", "no customer 1001"));
    ASSERT_TRUE(first.next_seq);
    query.before_seq = *first.next_seq;
    const FoundPage second = admin::find_group(store, Queue::outbox, query, wanted);
    EXPECT_THAT(errors_of(second), testing::ElementsAre("no customer 1000"));
    EXPECT_FALSE(second.next_seq);
}

TEST_F(DeadLetterGroupTest, IsSearchedForAsLongAsThereIsPatience) {
    let_die_of("no customer ", 1);
    let_die_of("HTTP 503 for ", 600);
    Query query{.newest_first = true};
    const FoundPage page =
        admin::find_group(store, Queue::outbox, query, fingerprint("customer"), Duration{1});
    EXPECT_THAT(page.messages, testing::IsEmpty());
    ASSERT_TRUE(page.next_seq);
    query.before_seq = *page.next_seq;
    EXPECT_EQ(admin::find_group(store, Queue::outbox, query, fingerprint("customer"), Duration{1})
                  .messages.size(),
              1U);
}

TEST_F(DeadLetterGroupTest, HasNothingButDeadMessages) {
    EXPECT_THROW(admin::group_filter({.state = State::ready}), std::invalid_argument);
    EXPECT_THROW(admin::group_filter({.state = {State::ready, State::dead}}),
                 std::invalid_argument);
    EXPECT_EQ(admin::group_filter({}).state, StateSet(State::dead));
    EXPECT_THROW(admin::change_matching(store, Queue::outbox, admin::Change::retry_now, {},
                                        {.fingerprint = "0123456789abcdef"}),
                 std::invalid_argument);
    Outbox(memory).enqueue({.topic = "a", .payload = "1"});
    const Message ready = memory.find(Queue::outbox, {.state = State::ready}).at(0);
    EXPECT_THAT(admin::json_of(ready), testing::Not(testing::HasSubstr("fingerprint")));
}

TEST_F(DeadLetterGroupTest, IsToldOfADeadMessage) {
    let_die_of("no customer ", 1);
    const Message dead = memory.find(Queue::outbox, {.state = State::dead}).at(0);
    EXPECT_THAT(admin::json_of(dead),
                testing::HasSubstr("\"fingerprint\":\"" + admin::fingerprint_of(dead) + "\""));
    EXPECT_TRUE(admin::is_fingerprint(admin::fingerprint_of(dead)));
    for (const char* const wrong : {"", "0123456789abcde", "0123456789ABCDEF", "0123456789abcdefg"})
        EXPECT_FALSE(admin::is_fingerprint(wrong)) << wrong;
}

// Goal: what somebody has agreed to is what happens, and soon. Method: redrive two of a group of
// three that lie behind many others.
TEST_F(DeadLetterGroupTest, IsChangedByItselfAndNoFurtherThanAgreed) {
    let_die_of("HTTP 503 for ", 600);
    let_die_of("no customer ", 3);
    const std::string wanted = fingerprint("customer");
    const auto matching = [&] {
        return admin::count_matching(store, Queue::outbox, admin::Change::redrive, {}, wanted);
    };
    EXPECT_EQ(matching(), 3U);
    store.searches = 0;
    const admin::BulkResult some = admin::change_matching(
        store, Queue::outbox, admin::Change::redrive, {}, {.at_most = 2, .fingerprint = wanted});
    EXPECT_EQ(some.changed, 2U);
    EXPECT_EQ(store.searches, 2) << "a batch of 500 at a time";
    EXPECT_EQ(matching(), 1U);
    const admin::BulkResult rest = admin::change_matching(
        store, Queue::outbox, admin::Change::redrive, {}, {.fingerprint = wanted});
    EXPECT_EQ(rest.changed, 1U);
    EXPECT_EQ(memory.count(Queue::outbox, {.state = State::dead}), 600U);
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
