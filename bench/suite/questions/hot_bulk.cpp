#include <thread>

#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

constexpr std::size_t rows = 100;

// One thread inserts; another drains, as far as writers get along, else the same one does.
Sample by_hand(Engine& engine, Floor& floor, double seconds) {
    const std::string way = floor.bulk_ways().front();
    if (!engine.concurrent_writers()) {
        return measure_load(engine, 1, seconds, [&](int thread) {
            const std::shared_ptr<FloorConnection> connection = floor.connection(thread);
            return [connection, way] {
                connection->insert_many(rows, way);
                return connection->drain(rows);
            };
        });
    }
    const auto consumer = floor.connection(1);
    consumer->pin_plans();  // else it may be a hundred times slower, on a table that was empty
    std::atomic<bool> stop = false;
    std::atomic<std::size_t> drained = 0;
    std::jthread consuming([&] {
        while (!stop) {
            const std::size_t count = consumer->drain(rows);
            drained += count;
            if (count == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    const Sample sample = measure_load(
        engine, 1, seconds,
        [&](int thread) {
            const std::shared_ptr<FloorConnection> connection = floor.connection(thread);
            return [connection, way] {
                connection->insert_many(rows, way);
                return rows;
            };
        },
        [&](std::size_t sent) {
            while (drained < sent) std::this_thread::sleep_for(std::chrono::microseconds(500));
        });
    stop = true;
    return sample;
}

Sample whole_life(Engine& engine, const Ours& ours, double seconds) {
    Counting counting(*ours.store, {.hot_capacity = 10'000});
    counting.start();
    const std::vector<postroom::NewMessage> messages(rows, sample_message());
    return measure_load(
        engine, 1, seconds,
        [&](int) {
            return [&] {
                ours.outbox.enqueue_all(messages);
                return rows;
            };
        },
        [&](std::size_t sent) { counting.wait(sent); });
}

void compare(Bench& bench, Engine& engine) {
    const std::string floor_url = engine.fresh_database();
    const auto floor = engine.floor(floor_url);
    const Ours ours(engine.fresh_database());
    const Ours kept(engine.fresh_database(), true);
    const double seconds = bench.options().seconds;
    bench.run({"hot_bulk",
               engine.name(),
               "100 rows",
               "INSERT, claim, DELETE",
               {{"INSERT, claim, DELETE", Role::floor,
                 [&] {
                     engine.settle(floor_url);
                     return by_hand(engine, *floor, seconds);
                 }},
                {"enqueue_all to ack", Role::ours,
                 [&] {
                     engine.settle(ours.url);
                     return whole_life(engine, ours, seconds);
                 }},
                {"enqueue_all to ack, history", Role::ours, [&] {
                     engine.settle(kept.url);
                     return whole_life(engine, kept, seconds);
                 }}}});
}

}  // namespace

void ask_hot_bulk(Bench& bench) {
    for (const auto& engine : bench.engines()) compare(bench, *engine);
}

}  // namespace bench
