// What becomes of messages whose worker died: reaped, handled apart from others, dead in the end.
#include "conformance/dispatcher_law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(DispatcherLaw, OBX_053_IBX_072_LeasesOfDeadWorkersAreReaped) {
    const WorkItemId id = put();
    ASSERT_EQ(claim(other, 1, short_lease).size(), 1U);  // and is never heard of again
    pass(after_short_lease);
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [](const Message&) {});
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::done));
}

// Goal: of messages that were lost with their worker, none shares a call with others; and those
// that were lost again, one of which may have killed it, are handled while nothing else is.
TEST_P(DispatcherLaw, AMessageLostTwiceIsHandledWhileNothingElseIs) {
    put_many(3);
    for (int losses = 0; losses < 2; ++losses) {
        ASSERT_TRUE(eventually([&] { return claim(other, 3, short_lease).size() == 3; }));
        pass(after_short_lease);
    }
    put_many(7);
    std::atomic<int> running = 0;
    std::atomic<int> isolated = 0;
    std::atomic<int> accompanied = 0;
    DispatcherOptions options = quick();
    options.crash_limit = 1000;  // a claim that brought only some was a loss too
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message& m) {
        const int with = ++running;
        std::this_thread::sleep_for(5ms);
        isolated += m.lost_count > 1;
        if (m.lost_count > 1) accompanied += with > 1 || running > 1;
        --running;
    });
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::delivered) == 10; }))
        << heard.count(EventKind::delivered) << " delivered, " << dispatcher.status().cold_depth
        << " cold, " << dispatcher.status().running << " running, " << dispatcher.status().in_flight
        << " in flight";
    EXPECT_EQ(isolated, 3);
    EXPECT_EQ(accompanied, 0);
}

TEST_P(DispatcherLaw, MessagesLostOnceAreHandledSideBySideEachInACallOfItsOwn) {
    put_many(12);
    ASSERT_EQ(claim(other, 12, short_lease).size(), 12U);
    pass(after_short_lease);
    std::mutex mutex;
    std::condition_variable two_run;
    int running = 0;
    std::size_t largest = 0;
    bool met = false;
    Dispatcher dispatcher(store(), quick());
    dispatcher.routes().on_batch("order.placed", 10,
                                 [&](std::span<const Message> messages, HandlerContext&) {
                                     std::unique_lock lock(mutex);
                                     largest = std::max(largest, messages.size());
                                     met = met || ++running > 1;
                                     two_run.notify_all();
                                     two_run.wait_for(lock, 10s, [&] { return met; });
                                     --running;
                                     return std::vector<Verdict>(messages.size(), Verdict::done());
                                 });
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::delivered) == 12; }));
    dispatcher.close();
    EXPECT_TRUE(met) << "each waited for another";
    EXPECT_EQ(largest, 1U);
}

TEST_P(DispatcherLaw, AMessageThatKilledItsWorkerTooOftenIsDead) {
    const WorkItemId id = put();
    DispatcherOptions options = quick();
    options.crash_limit = 2;
    for (std::uint32_t lost = 0; lost <= options.crash_limit; ++lost) {
        ASSERT_TRUE(eventually([&] { return claim(other, 1, 1ms).size() == 1; }));
        pass(10ms);
    }
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message&) { ++calls; });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::dead));
    EXPECT_EQ(get(id).dead_reason, DeadReason::crash_limit);
    EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace postroom::test
