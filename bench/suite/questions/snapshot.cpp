#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <thread>

#include "storage/postgres_connection.hpp"
#include "suite/backlog.hpp"
#include "suite/ours.hpp"
#include "suite/peers.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

constexpr std::size_t rows = 30;
constexpr auto pace = std::chrono::milliseconds{10};
constexpr double arrivals_per_second = 3000;
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

// Holds an old snapshot of that database, as a forgotten transaction does.
std::unique_ptr<Connection> hold_snapshot(const std::string& url) {
    auto holder = std::make_unique<Connection>(url);
    holder->execute("BEGIN ISOLATION LEVEL REPEATABLE READ");
    holder->execute("SELECT 1");
    return holder;
}

void add_state(Sample& sample, const std::string& url) {
    sample[metric::busy_percent] = sample[metric::cpu] * sample[metric::rate] / 1e4;
    sample[metric::table_mib] =
        std::stod(Connection(url).scalar("SELECT pg_database_size(current_database())")) /
        (1024 * 1024);
}

// In and out for so long. Only claims that brought something count: the others are polls.
Sample steady(Engine& engine, const std::string& url, const Side& side, double seconds, bool hold) {
    const std::unique_ptr<Connection> holder = hold ? hold_snapshot(url) : nullptr;
    Backlog backlog;
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
            // All through the pause: right after the write there is always something that waits.
            do {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                backlog.note(watch.seconds(), sent, drained);
            } while (std::chrono::steady_clock::now() < next);
        }
        stop = true;
    }
    Sample sample = meter.finish(static_cast<double>(std::max<std::size_t>(drained, 1)));
    backlog.add_to(sample, seconds, arrivals_per_second);
    const double part = seconds / 8;
    sample[metric::claim_start_ms] = p50_ms(claims, 0, part);
    sample[metric::claim_end_ms] = p50_ms(claims, seconds - part, seconds);
    sample[metric::claim_growth] =
        sample[metric::claim_end_ms] / std::max(sample[metric::claim_start_ms], 1e-6);
    add_state(sample, url);
    return sample;
}

// The same by a peer: one process writes, another has the workers.
Sample steady_peer(const Peers& peers, const Peer& peer, double seconds) {
    const std::string url = peer.engine->fresh_database();
    const auto consumer = peers.start(peer, url);
    const auto writer = peers.start(peer, url);
    const auto holder = hold_snapshot(url);
    Backlog backlog;
    consumer->ask("listen");
    const double before = consumer->cpu() + writer->cpu();
    Meter meter(*peer.engine);
    const Stopwatch watch;
    writer->ask(fmt::format("write {} {} {}", rows, pace.count(), seconds));
    std::size_t handled = 0;
    while (watch.seconds() < seconds) {
        std::this_thread::sleep_for(pace);
        const std::size_t sent = writer->count("sent");
        handled = consumer->count("handled");
        backlog.note(watch.seconds(), sent, handled);
    }
    const double messages = static_cast<double>(std::max<std::size_t>(handled, 1));
    Sample sample = meter.finish(messages);
    sample[metric::client_cpu] = (consumer->cpu() + writer->cpu() - before) * 1e6 / messages;
    sample[metric::cpu] = sample[metric::client_cpu] + sample[metric::server_cpu];
    backlog.add_to(sample, seconds, arrivals_per_second);
    add_state(sample, url);
    return sample;
}

}  // namespace

// Once with and once without each: the runs are long, and what counts is the course of one.
void ask_snapshot(Bench& bench) {
    Engine* const engine = bench.engine("postgresql");
    if (engine == nullptr) return;
    const double seconds = bench.options().snapshot_seconds;
    for (const bool hold : {false, true}) {
        if (bench.peers() != nullptr && !hold) continue;
        const std::string floor_url = engine->fresh_database();
        const auto floor = engine->floor(floor_url);
        const Ours ours(engine->fresh_database());
        Comparison comparison{
            "snapshot",
            engine->name(),
            hold ? "snapshot held" : "no snapshot held",
            "claim, DELETE",
            {{"claim, DELETE", Role::floor,
              [&] { return steady(*engine, floor_url, by_hand(*floor), seconds, hold); }},
             {"verbs", Role::ours,
              [&] { return steady(*engine, ours.url, by_ours(ours), seconds, hold); }}}};
        if (bench.peers() != nullptr) {
            for (const Peer& peer : bench.peers()->all()) {
                if (peer.engine != engine) continue;
                comparison.variants.push_back({peer.name, Role::peer, [&bench, peer, seconds] {
                                                   return steady_peer(*bench.peers(), peer,
                                                                      seconds);
                                               }});
            }
        }
        bench.run(comparison, 1);
    }
}

}  // namespace bench
