// What the options of a dispatcher change: retry policies of patterns and by function, and how it
// closes.
#include "conformance/dispatcher_law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(DispatcherLaw, O6_OBX_063_IBX_082_APatternMayHaveAPolicyOfItsOwn) {
    const WorkItemId id = put();
    Dispatcher dispatcher(store(), quick());
    dispatcher.routes().on_matching(
        "order.*", 1,
        [](std::span<const Message>, HandlerContext&) -> std::vector<Verdict> {
            throw std::runtime_error("no");
        },
        "", RetryPolicy{.max_attempts = 1});
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::dead));
    EXPECT_EQ(heard.count(EventKind::retried), 0U);
}

TEST_P(DispatcherLaw, S001_13_1_OBX_063_IBX_082_ThePolicyMayBeAFunction) {
    const WorkItemId id = put();
    DispatcherOptions options = quick();
    options.retry.own = [](std::uint32_t attempts) {
        return attempts == 1 ? Duration{1ms} : Duration{1h};
    };
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [](const Message&) { throw std::runtime_error("no"); });
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return get(id).retry_count == 2; }));
    EXPECT_GT(get(id).available_at, now() + 50min);
}

// Goal: closing hands back what was not started, or has it handled, as the option says.
// Method: one message runs and two wait behind it; close() begins before the first ends.
TEST_P(DispatcherLaw, S001_10_7_CloseDrainsWhatIsQueuedWhenItIsToldTo) {
    put_many(3);
    DispatcherOptions options = quick();
    options.worker_count = 1;
    options.hot_capacity = 0;
    options.on_close = OnClose::drain;
    options.drain_timeout = 1min;
    std::atomic<bool> closing = false;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message&) {
        while (!closing) std::this_thread::sleep_for(1ms);
    });
    dispatcher.start();
    ASSERT_TRUE(eventually([&] { return dispatcher.status().in_flight == 3; }));
    const std::jthread opener([&] {
        std::this_thread::sleep_for(50ms);
        closing = true;
    });
    dispatcher.close();
    EXPECT_EQ(heard.count(EventKind::delivered), 3U);
    EXPECT_EQ(heard.count(EventKind::released), 0U);
}

TEST_P(DispatcherLaw, S001_10_7_ADrainEndsWithItsTimeout) {
    const std::vector<WorkItemId> ids = put_many(3);
    DispatcherOptions options = quick();
    options.worker_count = 1;
    options.hot_capacity = 0;
    options.on_close = OnClose::drain;
    options.drain_timeout = 20ms;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message&, HandlerContext& context) {
        while (!context.stop().stop_requested()) std::this_thread::sleep_for(1ms);
    });
    dispatcher.start();
    ASSERT_TRUE(eventually([&] {
        const DispatcherStatus status = dispatcher.status();
        return status.in_flight == 3 && status.running == 1;
    }));
    if (!closes_in_time(dispatcher)) return;
    EXPECT_EQ(heard.count(EventKind::delivered), 1U);
    EXPECT_EQ(heard.count(EventKind::released), 2U);
    EXPECT_EQ(claim(other).size(), 2U);
}

}  // namespace
}  // namespace postroom::test
