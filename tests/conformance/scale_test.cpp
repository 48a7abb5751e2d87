// What operators look at while millions of messages wait and millions are delivered: what they see
// is judged at any size, how long it takes is printed, and judged in the full run.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <future>
#include <iostream>
#include <mutex>

#include "admin/explain.hpp"
#include "admin/messages.hpp"
#include "base/ulid.hpp"
#include "conformance/large_queue.hpp"
#include "conformance/law.hpp"
#include "conformance/program_looks.hpp"
#include "conformance/stopwatch.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/store_metrics.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Ge;
using testing::Le;
using testing::Optional;

struct NamedQuery {
    const char* name;
    Query query;
};

// Each filter alone and where it hurts: what it asks for is rare and lies deep.
std::vector<NamedQuery> pages(const LargeQueue& queue, Instant now) {
    const StateSet open = open_states;
    const std::uint64_t deep = queue.last_delivered() / 2;
    const std::uint64_t fresh = (queue.last_waiting() + queue.last()) / 2;
    return {
        {"open, newest", {.state = open, .newest_first = true}},
        {"open, oldest", {.state = open}},
        {"all, newest", {.newest_first = true}},
        {"all, oldest", {}},
        {"delivered, newest", {.state = State::done, .newest_first = true}},
        {"delivered, oldest", {.state = State::done}},
        {"dead, newest", {.state = State::dead, .newest_first = true}},
        {"dead, oldest", {.state = State::dead}},
        {"ready, newest", {.state = State::ready, .newest_first = true}},
        {"in progress, newest", {.state = State::in_progress, .newest_first = true}},
        {"failed, newest", {.failed = true, .newest_first = true}},
        {"put off, newest", {.put_off = true, .newest_first = true}},
        {"blocking, newest", {.blocking = true, .newest_first = true}},
        {"page deep among delivered", {.before_seq = deep, .newest_first = true}},
        {"page deep among delivered, oldest", {.after_seq = deep}},
        {"page deep among fresh", {.before_seq = fresh, .newest_first = true}},
        {"topic, newest", {.topic = "topic.3", .newest_first = true}},
        {"topic, delivered", {.topic = "topic.3", .state = State::done, .newest_first = true}},
        {"topic that nobody has", {.topic = "topic.none", .newest_first = true}},
        {"topic that nobody has, oldest", {.topic = "topic.none"}},
        {"ordering key, newest", {.ordering_key = "k-17", .newest_first = true}},
        {"ordering key, open", {.ordering_key = "k-17", .state = open, .newest_first = true}},
        {"ordering key that nobody has", {.ordering_key = "none", .newest_first = true}},
        {"aggregate type, rare", {.aggregate_type = "cart", .newest_first = true}},
        {"aggregate type, rare, open", {.aggregate_type = "cart", .state = open}},
        {"tenant, common", {.tenant_id = "tenant-3", .newest_first = true}},
        {"tenant, rare", {.tenant_id = "north", .newest_first = true}},
        {"tenant, rare, delivered",
         {.tenant_id = "north", .state = State::done, .newest_first = true}},
        {"correlation id, fresh",
         {.correlation_id = LargeQueue::correlation_id(fresh), .newest_first = true}},
        {"correlation id, delivered",
         {.correlation_id = LargeQueue::correlation_id(deep), .newest_first = true}},
        {"correlation id that nobody has", {.correlation_id = "none", .newest_first = true}},
        {"error, common", {.error_part = LargeQueue::common_error, .newest_first = true}},
        {"error, rare", {.error_part = LargeQueue::rare_error, .newest_first = true}},
        {"error that nobody has", {.error_part = "none", .newest_first = true}},
        {"last hours", {.created_from = now - 5h, .newest_first = true}},
        {"an hour five days ago",
         {.created_from = now - 121h, .created_before = now - 120h, .newest_first = true}},
        {"an hour five days ago, oldest",
         {.created_from = now - 121h, .created_before = now - 120h}},
        {"an hour two days ago, topic",
         {.topic = "topic.3",
          .created_from = now - 49h,
          .created_before = now - 48h,
          .newest_first = true}},
        {"before all", {.created_before = now - 1000h, .newest_first = true}},
        {"after all", {.created_from = now + 1h, .newest_first = true}},
        {"message id that nobody has", {.message_id = "none", .newest_first = true}},
        {"leased by nobody", {.owner = OwnerToken::generate(), .newest_first = true}},
    };
}

// What a search finds when it may go on for no more than a bit at a time; `enough` messages at
// most.
std::vector<WorkItemId> found_bit_by_bit(Store& store, Query query, std::size_t enough) {
    std::vector<WorkItemId> found;
    while (found.size() < enough) {
        query.limit = static_cast<std::uint32_t>(std::min<std::size_t>(40, enough - found.size()));
        const FoundPage page = store.find_within(Queue::outbox, query, Duration::zero());
        EXPECT_LE(page.messages.size(), query.limit);
        for (const WorkItemId& id : ids_of(page.messages)) found.push_back(id);
        if (!page.next_seq) break;
        (query.newest_first ? query.before_seq : query.after_seq) = *page.next_seq;
    }
    return found;
}

// Goal: whatever is asked for, a search in bits finds just what one to the end does.
TEST_P(LargeQueueLaw, ASearchThatIsCutShortGoesOnFromThere) {
    const LargeQueue queue(sql_sandbox(), 5000);
    constexpr std::uint32_t enough = 120;
    for (NamedQuery page : pages(queue, now())) {
        page.query.limit = enough;
        EXPECT_THAT(found_bit_by_bit(store(), page.query, enough),
                    ElementsAreArray(ids_of(store().find(Queue::outbox, page.query))))
            << page.name;
    }
}

// Goal: a search that may take no time looks at few messages, wherever it begins, and says so.
TEST_P(LargeQueueLaw, ASearchReadsNoMoreThanItHasTimeFor) {
    const LargeQueue queue(sql_sandbox(), 20'000);
    constexpr std::uint64_t few = 3 * 2100;  // in each table as many as are searched at least
    for (const std::uint64_t from : {queue.last(), queue.last_waiting(), queue.last_delivered()}) {
        const FoundPage down = store().find_within(
            Queue::outbox, {.topic = "none", .before_seq = from, .newest_first = true}, 0ms);
        ASSERT_TRUE(down.next_seq) << from;
        EXPECT_THAT(*down.next_seq, AllOf(Ge(from - few), Le(from))) << from;
    }
    const FoundPage up = store().find_within(Queue::outbox, {.topic = "none"}, 0ms);
    ASSERT_TRUE(up.next_seq);
    EXPECT_LE(*up.next_seq, few);
    // What no table can hold needs no search.
    const FoundPage waiting =
        store().find_within(Queue::outbox, {.error_part = "none", .newest_first = true}, 0ms);
    if (!sql_sandbox().one_table()) {
        EXPECT_THAT(waiting.next_seq, Optional(Le(queue.last_waiting())));
    }
}

// Goal: a list by time finds what one without bounds of numbers does, and is soon there.
TEST_P(LargeQueueLaw, AListByTimeLooksWhereMessagesOfThatTimeAre) {
    const LargeQueue queue(sql_sandbox(), 20'000);
    const Query hour{.created_from = now() - 121h, .created_before = now() - 120h, .limit = 1000};
    const std::vector<Message> all = store().find(Queue::outbox, hour);
    ASSERT_THAT(all, testing::Not(IsEmpty()));
    const admin::MessagePage page = admin::list_messages(store(), Queue::outbox, hour, 1h);
    ASSERT_EQ(page.messages.size(), all.size());
    EXPECT_EQ(page.messages.front().message.id, all.front().id);
    EXPECT_FALSE(page.next_seq);
    const admin::MessagePage none = admin::list_messages(
        store(), Queue::outbox, {.created_from = now() + 1h, .newest_first = true}, 1h);
    EXPECT_THAT(none.messages, IsEmpty());
}

// An id that tells when it was made.
std::string ulid_of(const Message& message) {
    const auto made = std::chrono::duration_cast<std::chrono::milliseconds>(
        message.created_at.time_since_epoch());
    return base::encode_ulid(
        {.milliseconds = static_cast<std::uint64_t>(made.count()), .random_low = message.id.seq()});
}

class Looks {
public:
    Looks(Store& store, LargeQueue& queue, const Stopwatch& watch)
        : store_(store), queue_(queue), watch_(watch) {}

    void at_figures() {
        watch_.look("status", [&] { admin::queue_status(store_, Queue::outbox); });
        StoreMetrics metrics;
        watch_.look("metrics", [&] {
            metrics.sample(store_);
            metrics.prometheus();
        });
        const Counts counts = store_.counts(Queue::outbox);
        const std::uint64_t pending = queue_.pending();
        EXPECT_THAT(counts.ready, AllOf(Ge(pending * 8 / 10), Le(pending * 12 / 10)));
        EXPECT_THAT(counts.dead, AllOf(Ge(pending / 200), Le(pending / 50)));
    }
    void at_pages() {
        for (const NamedQuery& page : pages(queue_, store_.now())) {
            admin::MessagePage found;
            watch_.look(fmt::format("list {}", page.name),
                        [&] { found = admin::list_messages(store_, Queue::outbox, page.query); });
            if (found.cut_short)
                std::cout << fmt::format("        cut short at {} with {}\n", *found.next_seq,
                                         found.messages.size());
        }
    }
    void at_message(const char* name, std::uint64_t seq) {
        const std::vector<Message> found =
            store_.find(Queue::outbox, {.after_seq = seq - 1, .limit = 1});
        ASSERT_EQ(found.size(), 1U);
        const Message& message = found.front();
        ASSERT_EQ(message.id.seq(), seq);
        show(fmt::format("{} by row id", name), message.id.to_string());
        show(fmt::format("{} by short id", name), admin::short_id(message.id));
        const std::string ulid = ulid_of(message);
        queue_.rename(seq, ulid);
        show(fmt::format("{} by message id", name), ulid);
        named_.push_back({fmt::format("{} by row id", name), message.id.to_string()});
        named_.push_back({fmt::format("{} by message id", name), ulid});
        watch_.look(fmt::format("explain {}", name), [&] { admin::explain(store_, message); });
    }
    void show(const std::string& name, const std::string& id) {
        watch_.look("show " + name, [&] {
            EXPECT_TRUE(admin::find_message(store_, Queue::outbox, id).message) << name;
        });
    }
    // Without a time in it and no key: the search stops in time, and says how far it came. To the
    // end it takes as long as there are messages.
    void at_strange_id(std::uint64_t seq) {
        const std::string id = LargeQueue::message_id(seq);
        admin::NamedMessage found;
        watch_.look("show by a strange message id",
                    [&] { found = admin::find_message(store_, Queue::outbox, id); });
        EXPECT_TRUE(found.message || found.searched_to);
        Stopwatch::print("show by a strange message id, to the end", Stopwatch::once([&] {
                             found = admin::find_message(store_, Queue::outbox, id,
                                                         {.patience = Duration::max()});
                         }));
        ASSERT_TRUE(found.message);
        EXPECT_EQ(found.message->id.seq(), seq);
    }

    // The same messages, and the rest, by the program.
    void at_program(const ProgramLooks& program) const {
        program.at_status();
        program.at_lists();
        for (const auto& [name, id] : named_) program.at_message(name, id);
        program.at_relay();
    }

private:
    Store& store_;
    LargeQueue& queue_;
    const Stopwatch& watch_;
    std::vector<std::pair<std::string, std::string>> named_;
};

// From the start of a dispatcher until a handler has the first message.
Duration until_first_delivery(Store& store) {
    std::promise<std::chrono::steady_clock::time_point> first;
    std::once_flag once;
    const auto begun = std::chrono::steady_clock::now();
    Dispatcher dispatcher(store);
    for (int topic = 0; topic < 20; ++topic)
        for (const char* type : {"__GLOBAL__", LargeQueue::rare_type})
            dispatcher.routes().on(AggregateType(type), TopicName(fmt::format("topic.{}", topic)),
                                   [&](const Message&) {
                                       std::call_once(once, [&] {
                                           first.set_value(std::chrono::steady_clock::now());
                                       });
                                   });
    dispatcher.start();
    const auto took = first.get_future().get() - begun;
    dispatcher.close();
    return std::chrono::duration_cast<Duration>(took);
}

// In the full run: 5,000,000 open and 5,000,000 delivered messages on PostgreSQL, a million of each
// elsewhere.
TEST_P(LargeQueueLaw, LooksStayQuick) {
    const bool full = load_scale() >= 1;
    const bool most = GetParam().backend.name == "Postgres";
    const std::uint64_t pending = full ? (most ? 5'000'000 : 1'000'000) : 20'000;
    std::optional<LargeQueue> queue;
    Stopwatch::print(fmt::format("loading {} open and {} delivered", pending, pending),
                     Stopwatch::once([&] { queue.emplace(sql_sandbox(), pending); }));
    const Stopwatch watch(full);
    Looks looks(store(), *queue, watch);
    looks.at_figures();
    looks.at_pages();
    looks.at_message("delivered", pending / 3);
    looks.at_message("waiting", queue->last_waiting() - 9);
    looks.at_message("in line", queue->last_waiting() - 3);
    looks.at_message("fresh", queue->last() - pending / 3);
    outbox().enqueue({.topic = "late", .payload = "{}", .message_id = MessageId("given-17")});
    looks.show("by a given message id", "given-17");
    sql(fmt::format("INSERT INTO {} (topic, payload) VALUES ('plain', {})",
                    table(sql_sandbox().message_table()), payload("x")));
    looks.show(
        "by the id of a plain INSERT",
        store().find(Queue::outbox, {.newest_first = true, .limit = 1}).at(0).message_id.str());
    if (!sql_sandbox().one_table()) {
        for (const std::uint64_t from : {pending / 2, pending + pending / 2})
            looks.show("by a message id that is a key of some tenant",
                       LargeQueue::message_id(LargeQueue::keyed_from(from)));
    }
    looks.at_strange_id(LargeQueue::keyed_from(pending / 2) + 1);
    const Duration first = until_first_delivery(store());
    Stopwatch::print("first delivery", first);
    if (full) {
        EXPECT_LE(first, 1s);
    }
#ifdef POSTROOM_TEST_PROGRAM
    looks.at_program(ProgramLooks(sql_sandbox().url(), watch));
#endif
}

}  // namespace
}  // namespace postroom::test
