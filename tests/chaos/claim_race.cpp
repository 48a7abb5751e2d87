#include "chaos/claim_race.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "postroom/error.hpp"
#include "postroom/open_store.hpp"

namespace postroom::test {

using namespace std::chrono_literals;
using testing::IsEmpty;

namespace {

constexpr std::size_t workers_per_store = 8;

std::int64_t microseconds(Instant instant) { return instant.time_since_epoch().count(); }

}  // namespace

void fill_race(const Outbox& outbox, std::uint64_t count) {
    constexpr std::uint64_t chunk = 1000;
    for (std::uint64_t done = 0; done < count; done += chunk) {
        std::vector<NewMessage> messages(std::min(chunk, count - done),
                                         {.topic = "race", .payload = "{}"});
        outbox.enqueue_all(messages);
    }
}

void Sightings::note_claim(const std::vector<Message>& messages, Duration lease) {
    const std::lock_guard lock(mutex);
    for (const Message& message : messages)
        holds[message.message_id.str()].push_back(
            {.lease_id = message.lease->lease_id.value(),
             .since = microseconds(message.lease->locked_until - lease),
             .until = microseconds(message.lease->locked_until)});
}

void Sightings::note_attempt(const std::vector<Message>& messages, Instant at) {
    const std::lock_guard lock(mutex);
    for (const Message& message : messages)
        for (torture::Hold& hold : holds[message.message_id.str()])
            if (hold.lease_id == message.lease->lease_id.value())
                hold.settled_after = microseconds(at);
}

void Sightings::note_results(const std::vector<Message>& messages,
                             const std::vector<Settled>& results) {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (results[i] == Settled::done) ++acked[messages[i].message_id.str()];
        if (results[i] == Settled::lost) ++lost;
    }
}

std::vector<std::string> Sightings::acked_twice() const {
    std::vector<std::string> ids;
    for (const auto& [id, times] : acked)
        if (times > 1) ids.push_back(id);
    return ids;
}

namespace {

class Worker {
public:
    Worker(Store& store, Sightings& sightings, const RaceHabits& habits, std::uint64_t seed)
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
                if (bears(error)) continue;
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
        const std::vector<Settled> results = settle(messages, abandons);
        sightings_.note_results(messages, results);
        left -= std::count(results.begin(), results.end(), Settled::done);
    }

    std::vector<Settled> settle(const std::vector<Message>& messages, bool abandons) {
        while (true) {
            try {
                return abandons ? outbox_.abandon(messages, "again", Duration{1ms})
                                : outbox_.ack(messages);
            } catch (const Error& error) {
                if (!bears(error)) throw;
            }
        }
    }

    bool bears(const Error& error) {
        if (!habits_.bears_conflicts || error.kind() != ErrorKind::conflict) return false;
        const std::lock_guard lock(sightings_.mutex);
        ++sightings_.conflicts;
        return true;
    }

    const Outbox outbox_;
    Sightings& sightings_;
    const RaceHabits habits_;
    std::mt19937_64 random_;
};

}  // namespace

std::chrono::duration<double> race(const std::vector<std::string>& urls, std::uint64_t count,
                                   Sightings& sightings, const RaceHabits& habits,
                                   std::uint64_t seed) {
    std::vector<std::unique_ptr<Store>> stores;
    for (std::size_t i = 0; i < race_worker_count / workers_per_store; ++i)
        stores.push_back(open_store(urls[i % urls.size()], {.pool_max = workers_per_store}));
    std::atomic<std::int64_t> left = static_cast<std::int64_t>(count);
    const auto begin = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < race_worker_count; ++i)
            threads.emplace_back([&, i] {
                Worker(*stores[i / workers_per_store], sightings, habits, seed + i).run(left);
            });
    }
    return std::chrono::steady_clock::now() - begin;
}

void judge_race(const char* title, std::uint64_t count, std::chrono::duration<double> took,
                const Sightings& sightings, std::uint64_t seed) {
    const std::vector<std::string> doubles = torture::double_holders(sightings.holds);
    EXPECT_THAT(sightings.errors, IsEmpty());
    EXPECT_THAT(doubles, IsEmpty());
    EXPECT_EQ(sightings.holds.size(), count);
    EXPECT_EQ(sightings.acked.size(), count);
    EXPECT_THAT(sightings.acked_twice(), IsEmpty());
    fmt::print(
        "{} workers, {}: {} messages in {:.1f} s, {:.0f}/s; {} redelivered, {} late settlements "
        "refused, "
        "{} held twice, {} missed; seed {}\n",
        race_worker_count, title, count, took.count(), static_cast<double>(count) / took.count(),
        torture::redelivered(sightings.holds), sightings.lost, doubles.size(),
        count - sightings.acked.size(), seed);
}

}  // namespace postroom::test
