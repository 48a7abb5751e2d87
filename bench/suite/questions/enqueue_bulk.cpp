#include <fmt/format.h>

#include "suite/ours.hpp"
#include "suite/peers.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

void compare(Bench& bench, Engine& engine, std::size_t rows) {
    const auto floor = engine.floor(engine.fresh_database());
    const Ours ours(engine.fresh_database());
    const std::vector<postroom::NewMessage> messages(rows, sample_message());
    const double seconds = bench.options().seconds;
    Comparison comparison{"enqueue_bulk",
                          engine.name(),
                          fmt::format("{} rows", rows),
                          floor->bulk_ways().front(),
                          {}};
    for (const std::string& way : floor->bulk_ways()) {
        comparison.variants.push_back({way, Role::floor, [&, way] {
                                           return measure_load(engine, 1, seconds, [&](int thread) {
                                               const std::shared_ptr<FloorConnection> connection =
                                                   floor->connection(thread);
                                               return [&, connection] {
                                                   connection->insert_many(rows, way);
                                                   return rows;
                                               };
                                           });
                                       }});
    }
    comparison.variants.push_back({"enqueue_all", Role::ours, [&] {
                                       return measure_load(engine, 1, seconds, [&](int) {
                                           return [&] {
                                               ours.outbox.enqueue_all(messages);
                                               return rows;
                                           };
                                       });
                                   }});
    if (bench.peers() != nullptr) {
        add(comparison,
            bench.peers()->variants(bench.peers()->writers(), 1, [&](PeerProcess& peer) {
                peer.ask(fmt::format("fill {}", rows));
                return peer.measure(fmt::format("bulk {} {}", rows, seconds));
            }));
    }
    bench.run(comparison);
}

}  // namespace

void ask_enqueue_bulk(Bench& bench) {
    for (const auto& engine : bench.engines()) {
        for (const std::size_t rows : {100, 1000}) compare(bench, *engine, rows);
    }
}

}  // namespace bench
