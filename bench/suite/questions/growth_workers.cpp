#include <fmt/format.h>

#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {

void ask_growth_workers(Bench& bench) {
    const std::size_t backlog = bench.options().backlog / 2;
    for (const auto& engine : bench.engines()) {
        const Ours ours(engine->fresh_database());
        Comparison comparison{"growth_workers", engine->name(), "verbs, batch 50", "1 workers", {}};
        for (const int workers : {1, 2, 4, 8, 16, 32}) {
            if (bench.options().quick() && workers != 1 && workers != 4 && workers != 32) continue;
            comparison.variants.push_back(
                {fmt::format("{} workers", workers), Role::ours, [&, workers] {
                     ours.fill(backlog);
                     engine->settle(ours.url);
                     return measure_drain(*engine, workers, backlog,
                                          [&](int) { return [&] { return ours.drain(50); }; });
                 }});
        }
        bench.run(comparison, bench.options().growth_repetitions);
    }
}

}  // namespace bench
