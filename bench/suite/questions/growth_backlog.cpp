#include <fmt/format.h>

#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

constexpr std::size_t taken = 1000;

}  // namespace

// One queue that grows: after each sample as many are put back as were taken.
void ask_growth_backlog(Bench& bench) {
    for (const auto& engine : bench.engines()) {
        const Ours ours(engine->fresh_database());
        std::size_t present = 0;
        for (std::size_t backlog = 1000; backlog <= bench.options().growth_max; backlog *= 10) {
            ours.fill(backlog - present);
            present = backlog;
            bench.run(
                {"growth_backlog",
                 engine->name(),
                 fmt::format("{} waiting", backlog),
                 "",
                 {{"enqueue_all", Role::ours,
                   [&] {
                       const std::vector<postroom::NewMessage> messages(100, sample_message());
                       Meter meter(*engine);
                       for (std::size_t n = 0; n < taken; n += messages.size())
                           ours.outbox.enqueue_all(messages);
                       return meter.finish(taken);
                   }},
                  {"verbs, batch 100", Role::ours,
                   [&] {
                       return measure_drain(*engine, 1, taken,
                                            [&](int) { return [&] { return ours.drain(100); }; });
                   }}}},
                bench.options().growth_repetitions);
        }
    }
}

}  // namespace bench
