#include <mutex>
#include <optional>
#include <thread>

#include "storage/postgres_connection.hpp"
#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

constexpr std::size_t rows = 30;
constexpr auto pace = std::chrono::milliseconds{10};
constexpr int workers = 2;
constexpr std::uint32_t batch = 100;

// Writes `rows` messages; claims and acknowledges one batch and says how long the claim took.
struct Side {
    std::function<std::function<void()>()> make_writer;
    // Returns the messages and, through the pointer, the seconds of the claim.
    std::function<std::function<std::size_t(double*)>()> make_worker;
};

Side by_hand(Floor& floor) {
    return {[&floor]() -> std::function<void()> {
                const std::shared_ptr<FloorConnection> connection = floor.connect();
                return [connection] { connection->insert_many(rows, "unnest"); };
            },
            [&floor]() -> std::function<std::size_t(double*)> {
                const std::shared_ptr<FloorConnection> connection = floor.connect();
                return [connection](double* claim) {
                    const std::size_t count = connection->drain(batch);
                    *claim = connection->last_claim();
                    return count;
                };
            }};
}

Side by_ours(const Ours& ours) {
    return {
        [&ours]() -> std::function<void()> {
            return [&ours] {
                ours.outbox.enqueue_all(std::vector<postroom::NewMessage>(rows, sample_message()));
            };
        },
        [&ours]() -> std::function<std::size_t(double*)> {
            return [&ours](double* claim) {
                const Stopwatch watch;
                const std::vector<postroom::Message> messages =
                    ours.outbox.claim(ours.outbox.owner(), std::chrono::minutes{5}, batch);
                *claim = watch.seconds();
                ours.outbox.ack(messages);
                return messages.size();
            };
        }};
}

struct Claim {
    double at;
    double seconds;
};

double p50_ms(const std::vector<Claim>& claims, double from, double to) {
    std::vector<double> values;
    for (const Claim& claim : claims) {
        if (claim.at >= from && claim.at < to) values.push_back(claim.seconds * 1000);
    }
    return median(values);
}

// In and out for so long. Only claims that brought something count: the others are polls.
Sample steady(Engine& engine, const std::string& url, const Side& side, double seconds, bool hold) {
    std::optional<Connection> holder;
    if (hold) {
        holder.emplace(url);
        holder->execute("BEGIN ISOLATION LEVEL REPEATABLE READ");
        holder->execute("SELECT 1");
    }
    std::mutex mutex;
    std::vector<Claim> claims;
    std::atomic<std::size_t> drained = 0;
    std::atomic<bool> stop = false;
    std::size_t sent = 0;
    Meter meter(engine);
    const Stopwatch watch;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < workers; ++i) {
            threads.emplace_back([&] {
                const auto work = side.make_worker();
                while (!stop) {
                    double took = 0;
                    const double at = watch.seconds();
                    const std::size_t count = work(&took);
                    drained += count;
                    if (count == 0) {
                        std::this_thread::sleep_for(std::chrono::milliseconds(5));
                        continue;
                    }
                    const std::lock_guard lock(mutex);
                    claims.push_back({at, took});
                }
            });
        }
        const auto write = side.make_writer();
        auto next = std::chrono::steady_clock::now();
        while (watch.seconds() < seconds) {
            write();
            sent += rows;
            next += pace;
            std::this_thread::sleep_until(next);
        }
        stop = true;
    }
    Sample sample = meter.finish(static_cast<double>(std::max<std::size_t>(drained, 1)));
    const double part = seconds / 8;
    sample[metric::claim_start_ms] = p50_ms(claims, 0, part);
    sample[metric::claim_end_ms] = p50_ms(claims, seconds - part, seconds);
    sample[metric::claim_growth] =
        sample[metric::claim_end_ms] / std::max(sample[metric::claim_start_ms], 1e-6);
    sample[metric::busy_percent] = sample[metric::cpu] * sample[metric::rate] / 1e4;
    sample[metric::table_mib] =
        std::stod(Connection(url).scalar("SELECT pg_database_size(current_database())")) /
        (1024 * 1024);
    return sample;
}

}  // namespace

// Once with and once without each: the runs are long, and what counts is the course of one.
void ask_snapshot(Bench& bench) {
    Engine* const engine = bench.engine("postgresql");
    if (engine == nullptr) return;
    const double seconds = bench.options().snapshot_seconds;
    for (const bool hold : {false, true}) {
        const std::string floor_url = engine->fresh_database();
        const auto floor = engine->floor(floor_url);
        const Ours ours(engine->fresh_database());
        bench.run({"snapshot",
                   engine->name(),
                   hold ? "snapshot held" : "no snapshot held",
                   "claim, DELETE",
                   {{"claim, DELETE", Role::floor,
                     [&] { return steady(*engine, floor_url, by_hand(*floor), seconds, hold); }},
                    {"verbs", Role::ours,
                     [&] { return steady(*engine, ours.url, by_ours(ours), seconds, hold); }}}},
                  1);
    }
}

}  // namespace bench
