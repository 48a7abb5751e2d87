#include <fmt/format.h>

#include <stdexcept>
#include <thread>

#include "postroom/tenancy.hpp"
#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

using namespace postroom;

// A dispatcher over `count` stores drains `messages` spread evenly over them.
Sample drain(Engine& engine, const std::vector<StorePtr>& stores, std::size_t messages) {
    const std::vector<NewMessage> share(messages / stores.size(), sample_message());
    for (const StorePtr& store : stores) Outbox(*store).enqueue_all(share);
    FixedStores provider(stores);
    std::atomic<std::size_t> handled = 0;
    Dispatcher dispatcher(provider, {.worker_count = 2, .batch = 100});
    dispatcher.on("order.placed", [&](const Message&) { ++handled; });
    const std::size_t all = share.size() * stores.size();
    Meter meter(engine);
    dispatcher.start();
    const Stopwatch watch;
    while (handled < all || dispatcher.status().in_flight > 0) {
        if (watch.seconds() > 120) throw std::runtime_error("the stores are not drained");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return meter.finish(static_cast<double>(all));
}

}  // namespace

void ask_growth_stores(Bench& bench) {
    Engine* const engine = bench.engine("sqlite");
    if (engine == nullptr) return;
    std::vector<StorePtr> stores;
    for (std::size_t count = 1; count <= bench.options().stores_max; count *= 10) {
        while (stores.size() < count) {
            stores.push_back(open_store(engine->fresh_database(),
                                        {.deploy_schema = true, .keep_history = false}));
        }
        bench.run({"growth_stores",
                   engine->name(),
                   fmt::format("{} stores", count),
                   "",
                   {{"dispatcher", Role::ours,
                     [&] {
                         return drain(*engine, stores,
                                      std::max(bench.options().backlog, std::size_t{10} * count));
                     }}}},
                  bench.options().growth_repetitions);
    }
}

}  // namespace bench
