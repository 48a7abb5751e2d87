#include <fmt/format.h>

#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

constexpr std::uint32_t batch = 100;

// Keys go round: neighbours have different ones.
void fill_with_keys(const Ours& ours, std::size_t count, std::size_t keys) {
    std::vector<postroom::NewMessage> messages(100, sample_message());
    for (std::size_t done = 0; done < count; done += messages.size()) {
        for (std::size_t i = 0; i < messages.size(); ++i)
            messages[i].ordering_key = fmt::format("key {}", (done + i) % keys);
        ours.outbox.enqueue_all(messages);
    }
}

Sample drain(Engine& engine, const Ours& ours, std::size_t backlog) {
    engine.settle(ours.url);
    return measure_drain(engine, 1, backlog,
                         [&](int) { return [&] { return ours.drain(batch); }; });
}

void compare(Bench& bench, Engine& engine) {
    const Ours plain(engine.fresh_database());
    const Ours keyed(engine.fresh_database());
    const std::size_t backlog = bench.options().backlog / 4 / 100 * 100;
    Comparison comparison{"ordered_drain",
                          engine.name(),
                          "verbs, 1 worker, batch 100",
                          "no keys",
                          {{"no keys", Role::ours, [&] {
                                plain.fill(backlog);
                                return drain(engine, plain, backlog);
                            }}}};
    for (const std::size_t keys : {100, 1000}) {
        comparison.variants.push_back({fmt::format("{} keys", keys), Role::ours, [&, keys] {
                                           fill_with_keys(keyed, backlog, keys);
                                           return drain(engine, keyed, backlog);
                                       }});
    }
    bench.run(comparison);
}

}  // namespace

void ask_ordered_drain(Bench& bench) {
    for (const auto& engine : bench.engines()) compare(bench, *engine);
}

}  // namespace bench
