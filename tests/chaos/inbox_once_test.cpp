// Messages arrive eight times in any order while their receivers are killed; each takes effect
// once.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "chaos/chaos_test.hpp"
#include "chaos/pack.hpp"
#include "postroom/error.hpp"
#include "postroom/inbox.hpp"
#include "support/scale.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

constexpr std::size_t sender_count = 8;
constexpr std::size_t receiver_count = 3;

// Two sources use the same message ids: they are different messages.
ReceivedMessage arrival(std::size_t number) {
    return {.topic = "payment.received",
            .source = number % 2 == 0 ? "bank" : "shop",
            .message_id = fmt::format("m{}", number / 2),
            .payload = "{}"};
}

// Delivers all messages once, in an order and in groups of its own.
void send_all(const Inbox& inbox, std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t i = 0; i < count;) {
        const std::size_t group = std::min<std::size_t>(1 + random() % 50, count - i);
        std::vector<ReceivedMessage> messages;
        for (std::size_t n = i; n < i + group; ++n) messages.push_back(arrival(order[n]));
        try {
            inbox.enqueue_all(messages);
        } catch (const Error& error) {
            // As a sender does that was not confirmed.
            if (error.kind() != ErrorKind::conflict) throw;
            continue;
        }
        i += group;
    }
}

class Senders {
public:
    Senders(Store& store, std::size_t count, std::uint64_t seed) : inbox_(store) {
        for (std::size_t i = 0; i < sender_count; ++i)
            threads_.emplace_back([this, count, seed, i] { send(count, seed + i); });
    }

    bool finished() const { return finished_ == sender_count; }

    std::vector<std::string> errors() {
        const std::lock_guard lock(mutex_);
        return errors_;
    }

private:
    void send(std::size_t count, std::uint64_t seed) {
        try {
            send_all(inbox_, count, seed);
        } catch (const Error& error) {
            const std::lock_guard lock(mutex_);
            errors_.emplace_back(error.what());
        }
        ++finished_;
    }

    const Inbox inbox_;
    std::atomic<std::size_t> finished_ = 0;
    std::mutex mutex_;
    std::vector<std::string> errors_;
    std::vector<std::jthread> threads_;  // last: ends before the rest
};

TEST_P(InboxOnceTest, RedeliveredMessagesTakeEffectOnceWhileReceiversAreKilled) {
    const std::size_t count = scaled(20'000, 1000);
    const std::uint64_t kills = scaled(200, 20);
    database().sql("CREATE TABLE effect (source varchar(64), message_id varchar(64))");
    const std::unique_ptr<Store> store = open();
    Pack receivers("inbox_child", receiver_count, seed(), [&](std::uint64_t number) {
        return std::vector<std::string>{database().url(), std::to_string(seed() * 1000 + number),
                                        "60"};
    });
    Senders senders(*store, count, seed());

    // The kills are spread over the time that the senders take, and go on until all were dealt.
    const auto effects = [&] { return database().count("SELECT count(*) FROM effect"); };
    while (receivers.kills() < kills) {
        if (GetParam().patience > 0ms) {
            const std::uint64_t had = effects();
            wait_until([&] { return effects() > had; }, GetParam().patience, 50ms);
        }
        receivers.kill_one();
    }
    ASSERT_TRUE(wait_until([&] { return senders.finished(); }, 600s));
    EXPECT_THAT(senders.errors(), IsEmpty());
    receivers.kill_all();
    // What was killed in flight comes back when its lease has ended. The last receiver holds what
    // it has, however slow the machine is.
    bool complete = false;
    {
        const ChildProcess last({.program = program_path("inbox_child"),
                                 .arguments = {database().url(), std::to_string(seed()), "2000"}});
        complete = wait_until([&] { return effects() >= count; }, 300s, 50ms);
    }

    // Once more after everything is done: nothing is queued by that.
    send_all(Inbox(*store), count, seed() + sender_count);
    EXPECT_TRUE(complete);
    const std::uint64_t doubled = database().count(
        "SELECT count(*) FROM (SELECT source FROM effect GROUP BY source, message_id HAVING "
        "count(*) > 1) d");
    EXPECT_EQ(effects(), count);
    EXPECT_EQ(doubled, 0U);
    const Counts counts = store->counts(Queue::inbox);
    EXPECT_EQ(counts.ready + counts.in_progress + counts.dead + counts.seen, 0U);
    EXPECT_THAT(broken_links(database(), "inbox"), IsEmpty());
    EXPECT_THAT(database().damage(), IsEmpty());
    fmt::print("{} senders, {} messages each, {} kills: {} effects, {} doubled; seed {}\n",
               sender_count, count, receivers.kills(), effects(), doubled, seed());
}

}  // namespace
}  // namespace postroom::test
