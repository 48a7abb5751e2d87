#include <fmt/format.h>

#include "suite/ours.hpp"
#include "suite/peers.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

Step insert_step(Floor& floor, int thread) {
    const std::shared_ptr<FloorConnection> connection = floor.connection(thread);
    return [connection] {
        connection->insert();
        return std::size_t{1};
    };
}

void compare(Bench& bench, Engine& engine, int writers) {
    const auto floor = engine.floor(engine.fresh_database());
    const Ours ours(engine.fresh_database());
    const double seconds = bench.options().seconds;
    const postroom::NewMessage message = sample_message();
    // One connection is the best that can be had by hand where writers take turns.
    const int floor_writers = engine.concurrent_writers() ? writers : 1;
    const auto enqueue = [&] {
        return measure_load(engine, writers, seconds, [&](int) {
            return [&] {
                ours.outbox.enqueue(message);
                return std::size_t{1};
            };
        });
    };
    Comparison comparison{"enqueue_single",
                          engine.name(),
                          fmt::format("{} writers", writers),
                          "INSERT",
                          {{"INSERT", Role::floor,
                            [&] {
                                return measure_load(
                                    engine, floor_writers, seconds,
                                    [&](int thread) { return insert_step(*floor, thread); });
                            }},
                           {"enqueue", Role::ours, enqueue}}};
    if (bench.peers() != nullptr) {
        add(comparison,
            bench.peers()->variants(bench.peers()->writers(), writers, [&](PeerProcess& peer) {
                peer.ask(fmt::format("warm {}", writers));
                return peer.measure(fmt::format("enqueue {} {}", writers, seconds));
            }));
    }
    bench.run(comparison);
}

}  // namespace

void ask_enqueue_single(Bench& bench) {
    for (const auto& engine : bench.engines()) {
        for (const int writers : {1, 8, 32}) {
            if (!engine->concurrent_writers() && writers > 8) continue;
            if (bench.options().quick() && !bench.options().with_peers() &&
                engine->concurrent_writers() && writers == 1)
                continue;
            compare(bench, *engine, writers);
        }
    }
}

}  // namespace bench
