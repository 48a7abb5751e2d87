// 32 workers on one queue: none is given what another holds, and none is left out.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "chaos/chaos_test.hpp"
#include "chaos/holds.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

constexpr std::size_t worker_count = 32;
constexpr std::size_t workers_per_store = 8;

std::int64_t microseconds(Instant instant) { return instant.time_since_epoch().count(); }

void fill(const Outbox& outbox, std::uint64_t count) {
    constexpr std::uint64_t chunk = 1000;
    for (std::uint64_t done = 0; done < count; done += chunk) {
        std::vector<NewMessage> messages(std::min(chunk, count - done),
                                         {.topic = "race", .payload = "{}"});
        outbox.enqueue_all(messages);
    }
}

// What all workers together saw.
struct Sightings {
    std::mutex mutex;
    Holds holds;
    std::map<std::string, int> acked;
    std::vector<std::string> errors;
    std::uint64_t lost = 0;

    void note_claim(const std::vector<Message>& messages, Duration lease) {
        const std::lock_guard lock(mutex);
        for (const Message& message : messages)
            holds[message.message_id.str()].push_back(
                {.lease_id = message.lease->lease_id.value(),
                 .since = microseconds(message.lease->locked_until - lease),
                 .until = microseconds(message.lease->locked_until)});
    }

    void note_attempt(const std::vector<Message>& messages, Instant at) {
        const std::lock_guard lock(mutex);
        for (const Message& message : messages)
            for (Hold& hold : holds[message.message_id.str()])
                if (hold.lease_id == message.lease->lease_id.value())
                    hold.settled_after = microseconds(at);
    }

    void note_results(const std::vector<Message>& messages, const std::vector<Settled>& results) {
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < messages.size(); ++i) {
            if (results[i] == Settled::done) ++acked[messages[i].message_id.str()];
            if (results[i] == Settled::lost) ++lost;
        }
    }

    std::vector<std::string> acked_twice() const {
        std::vector<std::string> ids;
        for (const auto& [id, times] : acked)
            if (times > 1) ids.push_back(id);
        return ids;
    }
};

struct Habits {
    Duration lease = 5min;
    int abandon_percent = 0;
    int late_percent = 0;  // of the batches: settled after the lease ended
};

class Worker {
public:
    Worker(Store& store, Sightings& sightings, const Habits& habits, std::uint64_t seed)
        : outbox_(store, {.queue = {.retry = {.max_attempts = 1'000'000}}}),
          sightings_(sightings),
          habits_(habits),
          random_(seed) {}

    // Claims and settles until `left` is zero.
    void run(std::atomic<std::int64_t>& left) {
        while (left > 0) {
            try {
                step(left);
            } catch (const Error& error) {
                const std::lock_guard lock(sightings_.mutex);
                sightings_.errors.emplace_back(error.what());
                return;
            }
        }
    }

private:
    bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

    void step(std::atomic<std::int64_t>& left) {
        const auto batch = static_cast<std::uint32_t>(1 + random_() % 100);
        const std::vector<Message> messages = outbox_.claim(outbox_.owner(), habits_.lease, batch);
        if (messages.empty()) {
            std::this_thread::sleep_for(2ms);
            return;
        }
        sightings_.note_claim(messages, habits_.lease);
        if (chance(habits_.late_percent)) std::this_thread::sleep_for(habits_.lease + 20ms);
        const bool abandons = chance(habits_.abandon_percent);
        sightings_.note_attempt(messages, outbox_.store().now());
        std::vector<Lease> leases;
        for (const Message& message : messages) leases.push_back(message.lease.value());
        const std::vector<Settled> results =
            abandons ? outbox_.abandon(leases, "again", Duration{1ms}) : outbox_.ack(leases);
        sightings_.note_results(messages, results);
        left -= std::count(results.begin(), results.end(), Settled::done);
    }

    const Outbox outbox_;
    Sightings& sightings_;
    const Habits habits_;
    std::mt19937_64 random_;
};

// Lets 32 workers empty the queue of `count` messages; returns how long it took.
std::chrono::duration<double> race(const std::string& url, std::uint64_t count,
                                   Sightings& sightings, const Habits& habits, std::uint64_t seed) {
    std::vector<std::unique_ptr<Store>> stores;
    for (std::size_t i = 0; i < worker_count / workers_per_store; ++i)
        stores.push_back(open_store(url, {.pool_max = workers_per_store}));
    std::atomic<std::int64_t> left = static_cast<std::int64_t>(count);
    const auto begin = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < worker_count; ++i)
            threads.emplace_back([&, i] {
                Worker(*stores[i / workers_per_store], sightings, habits, seed + i).run(left);
            });
    }
    return std::chrono::steady_clock::now() - begin;
}

// None missed, none held twice, none acknowledged twice; and the figures.
void judge(const char* title, std::uint64_t count, std::chrono::duration<double> took,
           const Sightings& sightings, std::uint64_t seed) {
    const std::vector<std::string> doubles = double_holders(sightings.holds);
    EXPECT_THAT(sightings.errors, IsEmpty());
    EXPECT_THAT(doubles, IsEmpty());
    EXPECT_EQ(sightings.holds.size(), count);
    EXPECT_EQ(sightings.acked.size(), count);
    EXPECT_THAT(sightings.acked_twice(), IsEmpty());
    fmt::print(
        "{} workers, {}: {} messages in {:.1f} s, {:.0f}/s; {} redelivered, {} late settlements "
        "refused, "
        "{} held twice, {} missed; seed {}\n",
        worker_count, title, count, took.count(), static_cast<double>(count) / took.count(),
        redelivered(sightings.holds), sightings.lost, doubles.size(),
        count - sightings.acked.size(), seed);
}

TEST_P(ClaimRaceTest, WorkersNeverShareAMessageAndMissNone) {
    const std::uint64_t count = scaled(200'000, 2000);
    fill(Outbox(*open()), count);
    Sightings sightings;
    const auto took = race(database().url(), count, sightings, {}, seed());
    judge("long leases", count, took, sightings, seed());
    EXPECT_EQ(redelivered(sightings.holds), 0U);
    EXPECT_THAT(broken_links(database(), "outbox"), IsEmpty());
}

TEST_P(ClaimRaceTest, AbandonedAndExpiredMessagesGoToOneAtATime) {
    const std::uint64_t count = scaled(100'000, 2000);
    fill(Outbox(*open()), count);
    Sightings sightings;
    const Habits habits{.lease = 250ms, .abandon_percent = 20, .late_percent = 3};
    const auto took = race(database().url(), count, sightings, habits, seed());
    judge("abandons and late settlements", count, took, sightings, seed());
    EXPECT_GT(sightings.lost, 0U) << "no lease was lost: the race was too tame";
    EXPECT_THAT(broken_links(database(), "outbox"), IsEmpty());
}

}  // namespace
}  // namespace postroom::test
