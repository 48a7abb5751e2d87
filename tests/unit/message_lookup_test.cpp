// A message is found by its message id without reading the whole queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/bulk.hpp"
#include "admin/messages.hpp"
#include "base/ulid.hpp"
#include "conformance/forwarding_store.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"

namespace postroom::test::message_lookup_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t rows = 10'000'000;
constexpr Instant first_day{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

// Ten million messages, one each millisecond, none of which exists before it is asked for.
class LongQueue final : public ForwardingStore {
public:
    using ForwardingStore::ForwardingStore;

    std::vector<Message> find(Queue, const Query& query) override {
        const std::uint64_t last =
            query.before_seq == 0 ? rows : std::min(rows, query.before_seq - 1);
        const std::uint64_t first = query.after_seq + 1;
        ++asked;
        if (query.message_id) {
            read += last - first + 1;
            for (std::uint64_t seq = first; seq <= last; ++seq)
                if (*query.message_id == message_id_of(seq)) return {row(seq)};
            return {};
        }
        ++read;
        if (first > last) return {};
        return {row(query.newest_first ? last : first)};
    }

    static std::string message_id_of(std::uint64_t seq) {
        const auto since_1970 = (created_at(seq) - ahead).time_since_epoch();
        return base::encode_ulid(
            {.milliseconds = static_cast<std::uint64_t>(
                 std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count()),
             .random_low = seq});
    }

    int asked = 0;
    std::uint64_t read = 0;

private:
    static constexpr auto ahead = 800ms;  // of the database's clock
    static Instant created_at(std::uint64_t seq) { return first_day + seq * 1ms; }
    static Message row(std::uint64_t seq) {
        Message message;
        message.id = WorkItemId(seq, 1);
        message.created_at = created_at(seq);
        message.message_id = MessageId(message_id_of(seq));
        return message;
    }
};

TEST(MessageLookup, ReadsFewRowsHoweverManyThereAre) {
    MemoryStore memory;
    for (const std::uint64_t seq : {std::uint64_t{1}, std::uint64_t{4'200'017}, rows}) {
        LongQueue store(memory);
        const admin::NamedMessage found =
            admin::find_message(store, Queue::outbox, LongQueue::message_id_of(seq));
        ASSERT_TRUE(found.message) << seq;
        EXPECT_EQ(found.message->id.seq(), seq);
        EXPECT_LE(store.asked, 20);
        EXPECT_LE(store.read, 101'000U);
    }
}

TEST(MessageLookup, LooksEverywhereForAnIdThatDoesNotTellItsTime) {
    MemoryStore memory;
    const WorkItemId sent =
        Outbox(memory).enqueue({.topic = "t", .payload = "1", .message_id = MessageId("own")}).id;
    EXPECT_EQ(admin::find_message(memory, Queue::outbox, "own").message->id, sent);
    EXPECT_FALSE(admin::find_message(memory, Queue::outbox, "01ARZ3NDEKTSV4RRFFQ69G5FAV").message);
}

// Has so many messages that a search for one of them is not over in time.
class EndlessQueue final : public ForwardingStore {
public:
    using ForwardingStore::ForwardingStore;

    FoundPage find_within(Queue queue, const Query& query, Duration given) override {
        patience = given;
        if (given == Duration::max()) return {.messages = find(queue, query)};
        return {.next_seq = 17};
    }

    Duration patience{};
};

TEST(MessageLookup, TellsHowFarItCameWhenItsTimeIsOver) {
    MemoryStore memory;
    const WorkItemId sent = Outbox(memory)
                                .enqueue({.topic = "t",
                                          .payload = "1",
                                          .message_id = MessageId("own"),
                                          .idempotency_key = "other"})
                                .id;
    EndlessQueue store(memory);
    const admin::NamedMessage cut_short = admin::find_message(store, Queue::outbox, "own");
    EXPECT_FALSE(cut_short.message);
    EXPECT_EQ(cut_short.searched_to, 17U);
    EXPECT_EQ(store.patience, admin::page_patience);
    const admin::NamedMessage found =
        admin::find_message(store, Queue::outbox, "own", {.patience = Duration::max()});
    ASSERT_TRUE(found.message);
    EXPECT_EQ(found.message->id, sent);
}

// Whoever changes a message must know that there is none.
TEST(MessageLookup, AChangeLooksEverywhere) {
    MemoryStore memory;
    EndlessQueue store(memory);
    const std::vector<std::string> names{"nobody"};
    const admin::NamedMessages chosen =
        admin::choose_named(store, Queue::outbox, admin::Change::redrive, names);
    EXPECT_EQ(store.patience, Duration::max());
    ASSERT_TRUE(chosen.refusal);
    EXPECT_EQ(chosen.refusal->why, admin::Refusal::Why::unknown);
}

TEST(Ulid, TellsWhenItWasMade) {
    EXPECT_EQ(base::ulid_time(base::encode_ulid({.milliseconds = 1'700'000'000'123})),
              Instant{1'700'000'000'123ms});
    EXPECT_FALSE(base::ulid_time("01ARZ3NDEKTSV4RRFFQ69G5FA"));
    EXPECT_FALSE(base::ulid_time("01ARZ3NDEKTSV4RRFFQ69G5FAU")) << "U is no digit";
    EXPECT_FALSE(base::ulid_time("81ARZ3NDEKTSV4RRFFQ69G5FAV")) << "more than 48 bits of time";
}

}  // namespace
}  // namespace postroom::test::message_lookup_test
