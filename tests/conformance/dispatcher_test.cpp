// The dispatcher on the cold path: routing, outcomes, leases, stopping.
#include "conformance/dispatcher_law.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(DispatcherLaw, OBX_054_IBX_073_OBX_057_IBX_076_OnlyTheHandlerOfTheTopicGetsTheWholeMessage) {
    const WorkItemId id = put({.payload = "{\"a\":1}", .headers = {{"x", "y"}}});
    std::atomic<int> others = 0;
    std::atomic<bool> right = false;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [&](const Message& m, HandlerContext& context) {
        right = m.id == id && m.payload == "{\"a\":1}" && m.headers.at("x") == "y" &&
                context.stop().stop_possible();
    });
    dispatcher.on("order.cancelled", [&](const Message&) { ++others; });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::done));
    EXPECT_TRUE(right);
    EXPECT_EQ(others, 0);
}

TEST_P(DispatcherLaw, OBX_055_IBX_074_AMessageNobodyHandlesIsAWarningAndRetried) {
    const WorkItemId id = put({.topic = "nobody.cares"});
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [](const Message&) {});
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::unroutable) >= 2; }));
    dispatcher.close();
    const Message message = get(id);
    EXPECT_EQ(message.state, State::ready);
    EXPECT_GE(message.retry_count, 2U);
    EXPECT_THAT(message.last_error, HasSubstr("nobody.cares"));
}

TEST_P(DispatcherLaw, AMessageNobodyHandlesIsDeadWhenThePolicySaysSo) {
    const WorkItemId id = put({.topic = "nobody.cares"});
    DispatcherOptions options = quick();
    options.unroutable = Unroutable::dead;
    Dispatcher dispatcher(store(), options);
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::dead));
}

TEST_P(DispatcherLaw, AHeldMessageWaitsForAProgramThatKnowsItAndCostsNoAttempt) {
    const WorkItemId id = put({.topic = "new.topic"});
    DispatcherOptions options = quick();
    options.unroutable = Unroutable::hold;
    {
        Dispatcher old_version(store(), options);
        old_version.start();
        ASSERT_TRUE(eventually([&] { return heard.count(EventKind::unroutable) >= 2; }));
    }
    EXPECT_EQ(get(id).retry_count, 0U);
    Dispatcher new_version(store(), options);
    new_version.on("new.topic", [](const Message&) {});
    new_version.start();
    EXPECT_TRUE(eventually_state(id, State::done));
}

TEST_P(DispatcherLaw,
       S001_18_4_OBX_056_IBX_075_OBX_064_IBX_083_OBX_061_IBX_080_O6_RetriedThenDead) {
    const WorkItemId id = put({.max_attempts = 3});
    std::mutex mutex;
    std::vector<std::uint32_t> attempts;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [&](const Message& m) {
        const std::lock_guard lock(mutex);
        attempts.push_back(m.retry_count);
        throw std::runtime_error("the mail server said no");
    });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::dead));
    dispatcher.close();
    EXPECT_THAT(attempts, ElementsAre(0, 1, 2));
    EXPECT_EQ(get(id).dead_reason, DeadReason::max_attempts);
    EXPECT_THAT(get(id).last_error, HasSubstr("the mail server said no"));
    EXPECT_EQ(heard.count(EventKind::retried), 2U);
    EXPECT_EQ(heard.count(EventKind::dead), 1U);
}

TEST_P(DispatcherLaw, OBX_063_IBX_082_OBX_065_IBX_084_ATopicMayHaveAPolicyOfItsOwn) {
    const WorkItemId id = put();
    DispatcherOptions options = quick();
    options.topics["order.placed"].retry = RetryPolicy{.base = 1ms, .cap = 5ms, .max_attempts = 2};
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message&) {
        ++calls;
        throw std::runtime_error("no");
    });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::dead));
    EXPECT_EQ(calls, 2);
}

TEST_P(DispatcherLaw, OutcomesByExceptionMeanWhatTheySay) {
    const WorkItemId permanent = put({.topic = "permanent"});
    const WorkItemId later = put({.topic = "later"});
    const WorkItemId odd = put({.topic = "odd", .max_attempts = 1});
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("permanent", [](const Message&) { throw PermanentFailure("never"); });
    dispatcher.on("later", [](const Message&) { throw RetryAfter(1h, "tomorrow"); });
    dispatcher.on("odd", [](const Message&) { throw 42; });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(permanent, State::dead));
    EXPECT_TRUE(eventually_state(odd, State::dead));
    EXPECT_TRUE(eventually([&] { return get(later).retry_count == 1; }));
    EXPECT_GT(get(later).available_at, now() + 50min);
    EXPECT_EQ(get(permanent).dead_reason, DeadReason::failed);
}

struct Order {
    static constexpr std::string_view topic = "order.placed";
    int id = 0;
};
[[maybe_unused]] void from_payload(std::string_view payload, Order& order) {
    order.id = std::stoi(std::string(payload));
}

TEST_P(DispatcherLaw, APayloadThatCannotBeReadIsDeadWithTheReason) {
    const WorkItemId good = put({.payload = "17"});
    const WorkItemId bad = put({.payload = "many"});
    std::atomic<int> seen = 0;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on<Order>([&](const Order& order) { seen = order.id; });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(good, State::done));
    EXPECT_TRUE(eventually_state(bad, State::dead));
    EXPECT_EQ(seen, 17);
    EXPECT_THAT(get(bad).last_error, HasSubstr("payload cannot be read"));
    EXPECT_EQ(get(bad).dead_reason, DeadReason::failed) << "not after many attempts";
}

TEST_P(DispatcherLaw, AnExpiredMessageIsDeadAndNotDelivered) {
    const WorkItemId id = put({.expires_at = now() - 1s});
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [&](const Message&) { ++calls; });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::dead));
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(get(id).dead_reason, DeadReason::expired);
}

TEST_P(DispatcherLaw, AStopInTheMomentOfTheStartIsNoFailure) {
    for (int cycle = 0; cycle < 20; ++cycle) {
        Dispatcher dispatcher(store(), quick());
        dispatcher.start();
        std::this_thread::sleep_for(std::chrono::microseconds{500 * cycle});
        dispatcher.close();
    }
    EXPECT_EQ(heard.count(EventKind::store_failed), 0U);
}

TEST_P(DispatcherLaw, AVerdictThatAHandlerReturnsCounts) {
    const WorkItemId again = put({.payload = "again"});
    const WorkItemId dead = put({.payload = "dead"});
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [&](const Message& m) {
        if (m.payload == "dead") return Verdict::fail("never");
        return ++calls == 1 ? Verdict::retry("not yet", 1ms) : Verdict::done();
    });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(dead, State::dead));
    EXPECT_TRUE(eventually_state(again, State::done));
    dispatcher.close();
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(get(dead).last_error, "never");
    EXPECT_EQ(heard.count(EventKind::retried), 1U);
}

TEST_P(DispatcherLaw, InterceptorsRunInOrderAndBackwards) {
    const WorkItemId id = put();
    std::mutex mutex;
    std::vector<std::string> calls;
    const auto note = [&](const std::string& what) {
        const std::lock_guard lock(mutex);
        calls.push_back(what);
    };
    Dispatcher dispatcher(store(), quick());
    dispatcher.before([&](const Message&) { note("before 1"); });
    dispatcher.after([&](const Message&, std::string_view) { note("after 2"); });
    dispatcher.after([&](const Message&, std::string_view) {
        note("after 3");
        throw std::runtime_error("an interceptor that fails harms nobody");
    });
    dispatcher.on("order.placed", [&](const Message&) { note("handler"); });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::done));
    dispatcher.close();
    EXPECT_THAT(calls, ElementsAre("before 1", "handler", "after 3", "after 2"));
    EXPECT_EQ(heard.count(EventKind::interceptor_failed), 1U);
}

TEST_P(DispatcherLaw, AnInterceptorThatThrowsKeepsTheHandlerFromBeingCalled) {
    const WorkItemId id = put();
    std::atomic<int> calls = 0;
    std::atomic<int> afters = 0;
    Dispatcher dispatcher(store(), quick());
    dispatcher.after(
        [&](const Message&, std::string_view error) { afters += error == "no entry"; });
    dispatcher.before([](const Message&) { throw PermanentFailure("no entry"); });
    dispatcher.on("order.placed", [&](const Message&) { ++calls; });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::dead));
    dispatcher.close();
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(afters, 1);
    EXPECT_EQ(get(id).last_error, "no entry");
}

TEST_P(DispatcherLaw, ABatchHandlerSettlesEachMessageByItself) {
    const std::vector<WorkItemId> ids = {put({.payload = "done"}), put({.payload = "dead"}),
                                         put({.payload = "done"})};
    std::atomic<std::size_t> largest = 0;
    DispatcherOptions options = quick();
    options.worker_count = 1;
    Dispatcher dispatcher(store(), options);
    dispatcher.routes().on_batch(
        "order.placed", 10, [&](std::span<const Message> messages, HandlerContext&) {
            largest = std::max(largest.load(), messages.size());
            std::vector<Verdict> verdicts;
            for (const Message& m : messages)
                verdicts.push_back(m.payload == "done" ? Verdict::done() : Verdict::fail("bad"));
            return verdicts;
        });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(ids[0], State::done));
    EXPECT_TRUE(eventually_state(ids[1], State::dead));
    EXPECT_TRUE(eventually_state(ids[2], State::done));
    EXPECT_EQ(largest, 3U);
}

TEST_P(DispatcherLaw, ABatchHandlerWithTheWrongNumberOfVerdictsFailedForAll) {
    const WorkItemId id = put({.max_attempts = 1});
    Dispatcher dispatcher(store(), quick());
    dispatcher.routes().on_batch("order.placed", 10, [](std::span<const Message>, HandlerContext&) {
        return std::vector<Verdict>{};
    });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(id, State::dead));
    EXPECT_THAT(get(id).last_error, HasSubstr("0 verdicts for 1 messages"));
}

TEST_P(DispatcherLaw, AnAsynchronousDeliveryIsSettledFromAnotherThread) {
    const WorkItemId done = put({.payload = "done"});
    const WorkItemId dead = put({.payload = "dead"});
    const WorkItemId dropped = put({.payload = "dropped", .max_attempts = 1});
    const WorkItemId threw = put({.payload = "threw"});
    std::mutex mutex;
    std::vector<std::jthread> threads;
    Dispatcher dispatcher(store(), quick());
    dispatcher.routes().on_async("order.placed", [&](Delivery delivery) {
        if (delivery.message().payload == "threw") throw PermanentFailure("at once");
        if (delivery.message().payload == "dropped") return;
        const std::lock_guard lock(mutex);
        threads.emplace_back([kept = std::move(delivery)]() mutable {
            std::this_thread::sleep_for(20ms);
            if (kept.message().payload == "done") return kept.done();
            kept.fail("refused");
        });
    });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(done, State::done));
    EXPECT_TRUE(eventually_state(dead, State::dead));
    EXPECT_TRUE(eventually_state(dropped, State::dead));
    EXPECT_TRUE(eventually_state(threw, State::dead));
    EXPECT_EQ(get(threw).last_error, "at once");
    EXPECT_THAT(get(dropped).last_error, HasSubstr("dropped"));
}

TEST_P(DispatcherLaw, AnAsynchronousTopicAtItsLimitHoldsUpNoOther) {
    std::vector<WorkItemId> slow;
    for (int i = 0; i < 5; ++i) slow.push_back(put({.topic = "slow"}));
    const WorkItemId quick_one = put({.topic = "quick"});
    std::mutex mutex;
    std::vector<Delivery> kept;
    std::atomic<std::size_t> given = 0;
    DispatcherOptions options = quick();
    options.async_max = 2;
    Dispatcher dispatcher(store(), options);
    dispatcher.routes().on_async("slow", [&](Delivery delivery) {
        const std::lock_guard lock(mutex);
        kept.push_back(std::move(delivery));
        ++given;
    });
    dispatcher.on("quick", [](const Message&) {});
    dispatcher.start();
    EXPECT_TRUE(eventually_state(quick_one, State::done));
    EXPECT_TRUE(eventually([&] { return given == 2; }));
    for (std::size_t next = 0; next < slow.size(); ++next) {
        ASSERT_TRUE(eventually([&] { return given > next; }));
        const std::lock_guard lock(mutex);
        EXPECT_LE(given, next + 2);
        kept[next].done();
    }
    for (const WorkItemId& id : slow) EXPECT_TRUE(eventually_state(id, State::done));
}

TEST_P(DispatcherLaw, AnOutcomeAfterTheDispatcherIsGoneHasNoEffect) {
    const WorkItemId id = put();
    std::optional<Delivery> kept;
    std::atomic<bool> given = false;
    {
        DispatcherOptions options = quick();
        options.drain_timeout = 10ms;
        Dispatcher dispatcher(store(), options);
        dispatcher.routes().on_async("order.placed", [&](Delivery delivery) {
            kept = std::move(delivery);
            given = true;
        });
        dispatcher.start();
        ASSERT_TRUE(eventually([&] { return given.load(); }));
    }
    kept->done();
    EXPECT_EQ(get(id).state, State::in_progress);
}

TEST_P(DispatcherLaw,
       OBX_060_IBX_079_OBX_059_IBX_078_DifferentMessagesRunConcurrentlyNeverTheSame) {
    put_many(40);
    std::mutex mutex;
    std::condition_variable two_run;
    int running = 0;
    int most = 0;
    int doubled = 0;
    std::map<WorkItemId, int> held;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [&](const Message& m) {
        std::unique_lock lock(mutex);
        most = std::max(most, ++running);
        doubled += ++held[m.id] > 1;
        two_run.notify_all();
        two_run.wait_for(lock, 10s, [&] { return most > 1; });
        lock.unlock();
        std::this_thread::sleep_for(10ms);
        lock.lock();
        --running;
    });
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::delivered) == 40; }));
    dispatcher.close();
    EXPECT_EQ(doubled, 0);
    EXPECT_GT(most, 1);
    EXPECT_LE(most, 4);
}

// Ten at full scale; otherwise one and some seconds, in which the rival would take it.
TEST_P(DispatcherLaw, AHandlerThatRunsForTenLeasesRunsOnce) {
    const auto percent = static_cast<int>(scaled(1000, 125));
    const WorkItemId id = put();
    std::atomic<int> calls = 0;
    std::atomic<bool> told_to_stop = false;
    std::atomic<bool> ended = false;
    DispatcherOptions options = quick();
    // A busy machine must not hold up a renewal for two thirds of it.
    options.lease = 20s;
    const std::unique_ptr<Store> second = sandbox().reopen();
    Dispatcher rival(*second, options);
    Dispatcher dispatcher(store(), options);
    // Measured by the database's time, which is no faster here than the machine's, by which leases
    // are renewed. Counted in steps, each of which may take twice as long as it should, it came
    // near the time limit of a test on a busy machine.
    const auto handler = [&](const Message&, HandlerContext& context) {
        ++calls;
        const Instant end = now() + options.lease * percent / 100;
        while (now() < end) {
            std::this_thread::sleep_for(10ms);
            pass(10ms);
            told_to_stop = told_to_stop || context.stop().stop_requested();
        }
        ended = true;
    };
    dispatcher.on("order.placed", handler);
    rival.on("order.placed", handler);
    dispatcher.start();
    rival.start();
    while (!ended) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(eventually_state(id, State::done));
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(told_to_stop);
}

TEST_P(DispatcherLaw, AHandlerThatLostItsLeaseIsToldToStop) {
    const WorkItemId id = put();
    std::atomic<int> calls = 0;
    std::atomic<bool> told = false;
    DispatcherOptions options = quick();
    options.lease = 12s;  // it must not end before the handler has begun
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message& m, HandlerContext& context) {
        if (++calls > 1) return;
        // Somebody settles it behind our back.
        work().ack(leases_of(m));
        for (int i = 0; i < 30'000 && !context.stop().stop_requested(); ++i)
            std::this_thread::sleep_for(1ms);
        told = context.stop().stop_requested();
    });
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::lost) >= 1; }));
    EXPECT_TRUE(eventually_state(id, State::done));
    EXPECT_EQ(calls, 1);
}

TEST_P(DispatcherLaw, APausedTopicWaitsWhileOthersGoOn) {
    const WorkItemId paused = put({.topic = "paused"});
    const WorkItemId open = put({.topic = "open"});
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("paused", [](const Message&) {}).on("open", [](const Message&) {});
    dispatcher.pause("paused");
    dispatcher.start();
    EXPECT_TRUE(eventually_state(open, State::done));
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::released) >= 2; }));
    EXPECT_EQ(get(paused).retry_count, 0U);
    EXPECT_THAT(dispatcher.status().paused, ElementsAre("paused"));
    dispatcher.resume("paused");
    EXPECT_TRUE(eventually_state(paused, State::done));
}

TEST_P(DispatcherLaw, APausedPatternHoldsBackAllThatItMatches) {
    const WorkItemId held = put({.topic = "order.placed"});
    const WorkItemId open = put({.topic = "orders"});
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [](const Message&) {}).on("orders", [](const Message&) {});
    dispatcher.pause("order.*");
    dispatcher.start();
    EXPECT_TRUE(eventually_state(open, State::done));
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::released) >= 2; }));
    EXPECT_THAT(dispatcher.status().paused, ElementsAre("order.*"));
    dispatcher.resume("order.*");
    EXPECT_TRUE(eventually_state(held, State::done));
}

TEST_P(DispatcherLaw, ADestinationThatIsDownCostsNoAttemptAndIsDrainedAfterwards) {
    const std::vector<WorkItemId> ids = put_many(20, {.topic = "crm"});
    const WorkItemId mail = put({.topic = "mail"});
    std::atomic<bool> down = true;
    std::atomic<int> tries = 0;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("crm", [&](const Message&) {
        ++tries;
        if (down) throw DestinationDown("connection refused");
    });
    dispatcher.on("mail", [](const Message&) {});
    dispatcher.start();
    EXPECT_TRUE(eventually_state(mail, State::done));
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::circuit_opened) >= 2; }));
    EXPECT_THAT(dispatcher.status().open_circuits, ElementsAre("crm"));
    // Probes, not all of them again and again: after the first wave one for each opening.
    const int tried = tries;
    EXPECT_LE(tried, 28 + static_cast<int>(heard.count(EventKind::circuit_opened)));
    down = false;
    for (const WorkItemId& id : ids) EXPECT_TRUE(eventually_state(id, State::done));
    EXPECT_EQ(heard.count(EventKind::retried), 0U);
    // The thread that tells of it may be overtaken by those that settle.
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::circuit_closed) >= 1; }));
}

TEST_P(DispatcherLaw, StopReleasesWhatWasNotStartedAndFinishesWhatRuns) {
    put_many(20);
    std::atomic<int> calls = 0;
    std::atomic<bool> open = false;
    DispatcherOptions options = quick();
    options.worker_count = 2;
    options.lease = 5min;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message&) {
        ++calls;
        while (!open) std::this_thread::sleep_for(1ms);
    });
    dispatcher.start();
    const auto waiting = [&] { return dispatcher.status().cold_depth; };
    const bool began = eventually([&] { return calls == 2 && waiting() > 0; });
    EXPECT_TRUE(began);
    {
        // Those that run end when the others have been given up.
        const std::jthread opener([&] {
            while (began && waiting() > 0) std::this_thread::sleep_for(1ms);
            open = true;
        });
        dispatcher.close();
    }
    const int handled = calls;
    EXPECT_LT(handled, 20);
    EXPECT_EQ(heard.count(EventKind::delivered), static_cast<std::size_t>(handled));
    // Nothing is left to expire: somebody else gets all the others at once.
    std::size_t got = 0;
    EXPECT_TRUE(eventually([&] {
        got += claim(100).size();
        return got == 20U - static_cast<std::size_t>(handled);
    }));
}

TEST_P(DispatcherLaw, StopTellsHandlersWhenTheirTimeIsUp) {
    put();
    std::atomic<bool> started = false;
    std::atomic<bool> told = false;
    DispatcherOptions options = quick();
    options.drain_timeout = 20ms;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message&, HandlerContext& context) {
        started = true;
        for (int i = 0; i < 60'000 && !told; ++i) {
            std::this_thread::sleep_for(1ms);
            told = context.stop().stop_requested();
        }
        throw std::runtime_error("interrupted");
    });
    dispatcher.start();
    ASSERT_TRUE(eventually([&] { return started.load(); }));
    const bool in_time = closes_in_time(dispatcher);
    EXPECT_TRUE(told);
    EXPECT_TRUE(!in_time || heard.count(EventKind::retried) == 1);
}

TEST_P(DispatcherLaw, TwoDispatchersShareOneQueueAndDeliverEachMessageOnce) {
    put_many(200);
    std::mutex mutex;
    std::map<WorkItemId, int> deliveries;
    const auto handler = [&](const Message& m) {
        const std::lock_guard lock(mutex);
        ++deliveries[m.id];
    };
    deliver_with_two(200, handler);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(deliveries.size(), 200U);
    for (const auto& [id, count] : deliveries) EXPECT_EQ(count, 1);
}

TEST_P(DispatcherLaw, MessagesOfOneOrderingKeyAreHandledInOrderOneAtATime) {
    for (int i = 0; i < 30; ++i)
        put({.payload = std::to_string(i), .ordering_key = i % 2 == 0 ? "even" : "odd"});
    std::mutex mutex;
    std::map<std::string, std::vector<int>> order;
    std::atomic<int> doubled = 0;
    std::map<std::string, int> running;
    const auto handler = [&](const Message& m) {
        {
            const std::lock_guard lock(mutex);
            order[m.ordering_key].push_back(std::stoi(m.payload));
            doubled += ++running[m.ordering_key] > 1;
        }
        std::this_thread::sleep_for(1ms);
        const std::lock_guard lock(mutex);
        --running[m.ordering_key];
    };
    deliver_with_two(30, handler);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(doubled, 0);
    for (const auto& [key, payloads] : order)
        EXPECT_TRUE(std::is_sorted(payloads.begin(), payloads.end())) << key;
}

TEST_P(DispatcherLaw, MisuseIsRefusedWithTheNameOfTheOption) {
    const auto refusal = [&](const std::function<void(DispatcherOptions&)>& change) {
        DispatcherOptions options = quick();
        change(options);
        return thrown([&] { const Dispatcher dispatcher(store(), options); });
    };
    EXPECT_THAT(refusal([](auto& o) { o.lease = 0s; }), HasSubstr("lease"));
    EXPECT_THAT(refusal([](auto& o) { o.worker_count = 0; }), HasSubstr("worker_count"));
    EXPECT_THAT(refusal([](auto& o) { o.batch = 0; }), HasSubstr("batch"));
    EXPECT_THAT(refusal([](auto& o) { o.cold_capacity = 0; }), HasSubstr("cold_capacity"));
    EXPECT_THAT(refusal([](auto& o) { o.retry.factor = 0; }), HasSubstr("factor"));
    Dispatcher dispatcher(store(), quick());
    dispatcher.start();
    EXPECT_EQ(kind_thrown([&] { dispatcher.start(); }), ErrorKind::misuse);
    EXPECT_EQ(kind_thrown([&] { dispatcher.routes(); }), ErrorKind::misuse);
    dispatcher.close();
    dispatcher.close();
    EXPECT_EQ(kind_thrown([&] { dispatcher.start(); }), ErrorKind::misuse);
}

}  // namespace
}  // namespace postroom::test
