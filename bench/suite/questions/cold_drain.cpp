#include <fmt/format.h>

#include <algorithm>

#include "suite/ours.hpp"
#include "suite/peers.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

Sample by_hand(Engine& engine, const std::string& url, Floor& floor, int workers, std::size_t batch,
               std::size_t backlog, bool pinned = false) {
    const auto filler = floor.connection(0);
    for (std::size_t done = 0; done < backlog; done += 1000)
        filler->insert_many(std::min<std::size_t>(1000, backlog - done), floor.bulk_ways().front());
    engine.settle(url);
    return measure_drain(engine, workers, backlog, [&](int thread) {
        const std::shared_ptr<FloorConnection> connection =
            floor.connection(pinned ? workers + thread : thread);
        if (pinned) connection->pin_plans();
        return [connection, batch] { return connection->drain(batch); };
    });
}

Sample by_verbs(Engine& engine, const Ours& ours, int workers, std::uint32_t batch,
                std::size_t backlog) {
    ours.fill(backlog);
    engine.settle(ours.url);
    return measure_drain(engine, workers, backlog,
                         [&](int) { return [&ours, batch] { return ours.drain(batch); }; });
}

Sample by_dispatcher(Engine& engine, const Ours& ours, int workers, std::uint32_t batch,
                     std::size_t backlog) {
    ours.fill(backlog);
    engine.settle(ours.url);
    return drain_by_dispatcher(engine, ours,
                               {.worker_count = static_cast<std::uint32_t>(workers),
                                .batch = batch,
                                .cold_capacity = std::size_t{4} * batch},
                               backlog);
}

// A batch of one is slow by its nature; a part of the backlog tells as much.
constexpr std::size_t backlog_of_single = 6'000;

void compare(Bench& bench, Engine& engine, int workers, std::uint32_t batch) {
    const std::string floor_url = engine.fresh_database();
    const auto floor = engine.floor(floor_url);
    const Ours ours(engine.fresh_database());
    const Ours kept(engine.fresh_database(), true);
    const std::size_t backlog =
        batch == 1 ? std::min(bench.options().backlog, backlog_of_single) : bench.options().backlog;
    Comparison comparison{
        "cold_drain",
        engine.name(),
        fmt::format("{} workers, batch {}", workers, batch),
        "claim, DELETE",
        {{"claim, DELETE", Role::floor,
          [&] { return by_hand(engine, floor_url, *floor, workers, batch, backlog); }},
         {"verbs", Role::ours, [&] { return by_verbs(engine, ours, workers, batch, backlog); }},
         {"verbs, history", Role::ours,
          [&] { return by_verbs(engine, kept, workers, batch, backlog); }},
         {"dispatcher", Role::ours,
          [&] { return by_dispatcher(engine, ours, workers, batch, backlog); }},
         {"dispatcher, history", Role::ours,
          [&] { return by_dispatcher(engine, kept, workers, batch, backlog); }}}};
    if (floor->pins()) {
        comparison.variants.push_back(
            {"claim, DELETE, plans pinned", Role::floor,
             [&] { return by_hand(engine, floor_url, *floor, workers, batch, backlog, true); }});
    }
    bench.run(comparison);
}

// Everybody in configurations of their own.
void compare_peers(Bench& bench, Engine& engine) {
    const std::string floor_url = engine.fresh_database();
    const auto floor = engine.floor(floor_url);
    const Ours ours(engine.fresh_database());
    const std::size_t backlog = bench.options().backlog;
    const double limit_seconds = bench.options().quick() ? 3 : 20;
    constexpr int workers = 2;
    Comparison comparison{
        "cold_drain", engine.name(), fmt::format("{} messages", backlog), "by hand, batch 100", {}};
    for (const std::uint32_t batch : {1U, 100U, 1000U}) {
        const std::size_t some = batch == 1 ? std::min(backlog, backlog_of_single) : backlog;
        comparison.variants.push_back(
            {fmt::format("by hand, batch {}", batch), Role::floor, [&, batch, some] {
                 return by_hand(engine, floor_url, *floor, workers, batch, some);
             }});
        comparison.variants.push_back(
            {fmt::format("verbs, batch {}", batch), Role::ours,
             [&, batch, some] { return by_verbs(engine, ours, workers, batch, some); }});
    }
    comparison.variants.push_back({"dispatcher, default", Role::ours, [&] {
                                       ours.fill(backlog);
                                       engine.settle(ours.url);
                                       return drain_by_dispatcher(engine, ours, {}, backlog);
                                   }});
    comparison.variants.push_back({"dispatcher, batch 1,000", Role::ours, [&] {
                                       return by_dispatcher(engine, ours, workers, 1000, backlog);
                                   }});
    add(comparison, bench.peers()->variants(bench.peers()->all(), 10, [&](PeerProcess& peer) {
        peer.ask(fmt::format("fill {}", backlog));
        peer.engine().settle(peer.url());
        return peer.measure(fmt::format("drain {} {}", backlog, limit_seconds));
    }));
    bench.run(comparison);
}

}  // namespace

void ask_cold_drain(Bench& bench) {
    if (bench.peers() != nullptr) return compare_peers(bench, *bench.engine("postgresql"));
    for (const auto& engine : bench.engines()) {
        for (const std::uint32_t batch : {1U, 100U, 1000U}) {
            // MariaDB is the slowest, and its bar is at 100.
            if (bench.options().quick() && batch != 100 && engine->name() == "mariadb") continue;
            compare(bench, *engine, 1, batch);
            if (engine->concurrent_writers()) compare(bench, *engine, 2, batch);
        }
    }
}

}  // namespace bench
