#include "base/random.hpp"
#include "postroom/testing.hpp"
#include "queue/dispatch_core.hpp"

namespace postroom {

namespace {

class StoreClock final : public Clock {
public:
    explicit StoreClock(Store& store) : store_(store) {}
    Instant now() const override { return store_.now(); }

private:
    Store& store_;
};

std::size_t handle_all(DispatchCore& core, const Clock& clock) {
    std::size_t calls = 0;
    while (std::optional<Work> work = core.take(clock.now())) {
        core.run(std::move(*work));
        ++calls;
    }
    core.settle_step(clock.now(), /*all=*/true);
    return calls;
}

}  // namespace

std::size_t drain(Store& store, const Routes& routes, const DispatcherOptions& options) {
    const StoreClock clock(store);
    base::SystemRandom random;
    const auto core = std::make_shared<DispatchCore>(
        store, options, clock, options.random == nullptr ? random : *options.random);
    core->routes() = routes;
    std::size_t calls = 0;
    // A message that has to be handled alone starts in the round after the others are settled.
    for (int quiet_rounds = 0; quiet_rounds < 2;) {
        core->nudge();
        core->keep_step(clock.now());
        core->claim_step(clock.now());
        const std::size_t handled = handle_all(*core, clock);
        calls += handled;
        quiet_rounds = handled == 0 ? quiet_rounds + 1 : 0;
    }
    core->begin_close();
    while (!core->idle() && core->settle_step(clock.now(), /*all=*/true) <= clock.now()) {
    }
    core->disconnect();
    return calls;
}

}  // namespace postroom
