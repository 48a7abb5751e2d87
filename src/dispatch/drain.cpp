#include "base/random.hpp"
#include "dispatch/dispatch_core.hpp"
#include "postroom/testing.hpp"

namespace postroom {

namespace {

class StoreClock final : public Clock {
public:
    explicit StoreClock(Store& store) : store_(store) {}
    Instant now() const override { return store_.now(); }

private:
    Store& store_;
};

void settle_all(DispatchCore& core, const Clock& clock) {
    while (!core.all_settled() && core.settle_step(clock.now(), /*all=*/true) <= clock.now()) {
    }
}

std::size_t handle_all(DispatchCore& core, const Clock& clock) {
    std::size_t calls = 0;
    while (std::optional<Work> work = core.take(clock.now())) {
        core.run(std::move(*work));
        ++calls;
    }
    settle_all(core, clock);
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
    // An isolated message starts in the round after the others are settled.
    for (int quiet_rounds = 0; quiet_rounds < 2;) {
        core->nudge();
        core->keep_step(clock.now());
        core->claim_step(clock.now());
        settle_all(*core, clock);  // nothing starts before lost messages are sent back
        const std::size_t handled = handle_all(*core, clock);
        calls += handled;
        quiet_rounds = handled == 0 ? quiet_rounds + 1 : 0;
    }
    core->begin_close();
    settle_all(*core, clock);
    core->disconnect();
    return calls;
}

}  // namespace postroom
