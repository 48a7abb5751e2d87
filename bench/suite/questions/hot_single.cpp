#include <fmt/format.h>

#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

Sample whole_life(Engine& engine, const Ours& ours, int writers, double seconds) {
    Counting counting(*ours.store, {.hot_capacity = 10'000});
    counting.start();
    const postroom::NewMessage message = sample_message();
    return measure_load(
        engine, writers, seconds,
        [&](int) {
            return [&] {
                ours.outbox.enqueue(message);
                return std::size_t{1};
            };
        },
        [&](std::size_t sent) { counting.wait(sent); });
}

// By hand: bare inserts. Where writers take turns, one thread that puts as many into a commit as
// there are writers, which is what a group commit can reach.
Sample bare_inserts(Engine& engine, Floor& floor, int writers, double seconds) {
    const bool grouped = !engine.concurrent_writers();
    const std::size_t group = grouped ? static_cast<std::size_t>(writers) : 1;
    return measure_load(engine, grouped ? 1 : writers, seconds, [&](int thread) -> Step {
        const std::shared_ptr<FloorConnection> connection = floor.connection(thread);
        if (group == 1) {
            return [connection] {
                connection->insert();
                return std::size_t{1};
            };
        }
        return [connection, group, way = floor.bulk_ways().front()] {
            connection->insert_many(group, way);
            return group;
        };
    });
}

void compare(Bench& bench, Engine& engine, int writers) {
    const auto floor = engine.floor(engine.fresh_database());
    const Ours ours(engine.fresh_database());
    const Ours kept(engine.fresh_database(), true);
    const double seconds = bench.options().seconds;
    bench.run(
        {"hot_single",
         engine.name(),
         fmt::format("{} writers", writers),
         "INSERT",
         {{"INSERT", Role::floor, [&] { return bare_inserts(engine, *floor, writers, seconds); }},
          {"enqueue to ack", Role::ours,
           [&] { return whole_life(engine, ours, writers, seconds); }},
          {"enqueue to ack, history", Role::ours,
           [&] { return whole_life(engine, kept, writers, seconds); }}}});
}

}  // namespace

void ask_hot_single(Bench& bench) {
    for (const auto& engine : bench.engines()) {
        if (engine->concurrent_writers()) {
            for (const int writers : {8, 32}) {
                if (bench.options().quick() && writers == 32 && engine->name() != "postgresql")
                    continue;
                compare(bench, *engine, writers);
            }
        } else {
            for (const int writers : {1, 16}) compare(bench, *engine, writers);
        }
    }
}

}  // namespace bench
