// The hot path: from the commit to the handler without a claim, and never without the commit.
#include <set>

#include "conformance/dispatcher_law.hpp"
#include "queue/message_fields.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

enum class Events { user_created };
[[maybe_unused]] std::string_view to_name(Events) { return "USER_CREATED"; }
enum class Aggregates { user };
[[maybe_unused]] std::string_view to_name(Aggregates) { return "USER"; }

NewMessage news(const std::string& topic = "order.placed") {
    NewMessage message;
    message.topic = topic;
    message.payload = "{}";
    return message;
}

// Far from polling: what arrives within a test came over the hot path or by a nudge.
DispatcherOptions rarely_polling(DispatcherOptions options) {
    options.poll_interval_max = 1h;
    return options;
}

TEST_P(HotPathLaw, S001_18_1_ARolledBackMessageIsNeitherThereNorDelivered) {
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [&](const Message&) { ++calls; });
    dispatcher.start();
    WorkItemId id;
    {
        const auto tx = store().begin();
        id = outbox().enqueue(*tx, news()).id;
        tx->rollback();
    }
    {
        const auto tx = store().begin();
        outbox().enqueue(*tx, news());
    }  // dropped
    const auto after = outbox().enqueue(news());
    EXPECT_TRUE(eventually_state(after.id, State::done));
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(outbox().get(id).has_value());
}

TEST_P(HotPathLaw, S001_18_2_O4_ACommittedMessageIsHandledFromMemory) {
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), rarely_polling(quick()));
    dispatcher.on("order.placed", [&](const Message& m) { calls += m.payload == "{}"; });
    dispatcher.start();
    const auto tx = store().begin();
    const EnqueueResult result = outbox().enqueue(*tx, news());
    EXPECT_EQ(calls, 0);
    tx->commit();
    EXPECT_TRUE(eventually_state(result.id, State::done));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(heard.count(EventKind::hot_enqueued), 1U);
    EXPECT_EQ(heard.count(EventKind::cold_enqueued), 0U);
}

// Goal: a handler cannot tell which way a message came.
// Method: the first delivery comes over the hot path and fails, the second one is a claim's;
// compare them field by field, but for what a failed attempt changes and for times, which on the
// hot path are the writer's.
TEST_P(HotPathLaw, HotDeliversWhatColdDelivers) {
    std::mutex mutex;
    std::vector<Message> delivered;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on(Aggregates::user, Events::user_created, [&](const Message& message) {
        const std::lock_guard lock(mutex);
        delivered.push_back(message);
        if (delivered.size() == 1) throw std::runtime_error("again");
    });
    dispatcher.start();
    const Instant yesterday = std::chrono::floor<std::chrono::seconds>(store().now()) - 24h;
    const EnqueueResult result = outbox().enqueue({.topic = Events::user_created,
                                                   .payload = std::string("\0\xff", 2),
                                                   .content_type = "application/x-bytes",
                                                   .headers = {{"h", "1"}, {"i", ""}},
                                                   .correlation_id = "correlated",
                                                   .tenant_id = "tenant",
                                                   .aggregate_type = Aggregates::user,
                                                   .aggregate_id = "17",
                                                   .occurred_at = yesterday,
                                                   .priority = 3,
                                                   .max_attempts = 4});
    ASSERT_TRUE(eventually_state(result.id, State::done));
    const std::lock_guard lock(mutex);
    ASSERT_EQ(delivered.size(), 2U);
    ASSERT_EQ(heard.count(EventKind::hot_enqueued), 1U);
    EXPECT_EQ(delivered[0].id, delivered[1].id);
    visit_shared_fields(delivered[0], delivered[1], [](FieldIndex index, auto& hot, auto& cold) {
        switch (index) {
            case FieldIndex::created_at:
            case FieldIndex::available_at:
            case FieldIndex::retry_count:
            case FieldIndex::last_error:
                return;
            default:
                EXPECT_TRUE(hot == cold) << field_of(index).name;
        }
    });
}

TEST_P(HotPathLaw, S001_18_3_WithoutRoomTheMessageIsClaimedInstead) {
    std::mutex gate;
    std::unique_lock closed(gate);
    DispatcherOptions options = quick();
    options.hot_capacity = 2;
    options.worker_count = 1;
    Dispatcher dispatcher(store(), options);
    std::atomic<int> calls = 0;
    dispatcher.on("order.placed", [&](const Message&) {
        const std::lock_guard wait(gate);
        ++calls;
    });
    dispatcher.start();
    std::vector<WorkItemId> ids;
    for (int i = 0; i < 10; ++i) ids.push_back(outbox().enqueue(news()).id);
    EXPECT_GE(heard.count(EventKind::hot_dropped), 7U);
    closed.unlock();
    for (const WorkItemId& id : ids) EXPECT_TRUE(eventually_state(id, State::done));
    EXPECT_EQ(calls, 10);
}

TEST_P(HotPathLaw, S001_18_5_S001_18_6_EnumsNameTopicsAndAggregates) {
    std::mutex mutex;
    std::string aggregate;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on(AggregateType(Aggregates::user), TopicName(Events::user_created),
                  [&](const Message& m) {
                      const std::lock_guard lock(mutex);
                      aggregate = m.aggregate_type;
                  });
    dispatcher.start();
    NewMessage message = news();
    message.topic = TopicName(Events::user_created);
    message.aggregate_type = AggregateType(Aggregates::user);
    EXPECT_TRUE(eventually_state(outbox().enqueue(message).id, State::done));
    const std::lock_guard lock(mutex);
    EXPECT_EQ(aggregate, "USER");
}

TEST_P(HotPathLaw, AFailedHotDeliveryIsRetriedFromTheDatabase) {
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [&](const Message&) {
        if (++calls == 1) throw std::runtime_error("not yet");
    });
    dispatcher.start();
    EXPECT_TRUE(eventually_state(outbox().enqueue(news()).id, State::done));
    EXPECT_EQ(calls, 2);
}

TEST_P(HotPathLaw, WhatMayNotGoHotGoesCold) {
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [&](const Message&) { ++calls; });
    dispatcher.start();
    NewMessage keyed = news();
    keyed.idempotency_key = "once";
    NewMessage ordered = news();
    ordered.ordering_key = "line";
    NewMessage due = news();
    due.due_time = now() + 30ms;
    NewMessage low = news();
    low.priority = -1;
    NewMessage mortal = news();
    mortal.expires_at = now() + 1h;
    for (const NewMessage& message : {keyed, ordered, due, low, mortal})
        EXPECT_TRUE(eventually_state(outbox().enqueue(message).id, State::done));
    EXPECT_EQ(calls, 5);
    EXPECT_EQ(heard.count(EventKind::hot_enqueued), 0U);
}

TEST_P(HotPathLaw, AnUnfinishedHotMessageIsReleasedWhenTheDispatcherStops) {
    std::vector<WorkItemId> ids;
    {
        std::atomic<bool> open = false;
        DispatcherOptions options = quick();
        options.worker_count = 1;
        options.lease = 5min;
        Dispatcher dispatcher(store(), options);
        dispatcher.on("order.placed", [&](const Message&) {
            while (!open) std::this_thread::sleep_for(1ms);
        });
        dispatcher.start();
        for (int i = 0; i < 5; ++i) ids.push_back(outbox().enqueue(news()).id);
        const auto waiting = [&] {
            const DispatcherStatus status = dispatcher.status();
            return status.hot_depth + status.cold_depth;
        };
        const bool began =
            eventually([&] { return heard.count(EventKind::started) == 1 && waiting() > 0; });
        EXPECT_TRUE(began);
        // The one that runs ends when the others have been given up.
        const std::jthread opener([&] {
            while (began && waiting() > 0) std::this_thread::sleep_for(1ms);
            open = true;
        });
        dispatcher.close();
    }
    std::size_t got = 0;
    EXPECT_TRUE(eventually([&] {
        got += claim(100).size();
        return got == 4;
    }));
}

TEST_P(HotPathLaw, ConcurrentWritersAndWorkersDeliverEverythingOnce) {
    constexpr int per_writer = 100;
    std::mutex mutex;
    std::map<std::string, int> deliveries;
    Dispatcher dispatcher(store(), quick());
    dispatcher.on("order.placed", [&](const Message& m) {
        const std::lock_guard lock(mutex);
        ++deliveries[m.message_id.str()];
    });
    dispatcher.start();
    outbox();
    in_parallel(4, [&](int writer) {
        for (int i = 0; i < per_writer; ++i) {
            again_after_conflicts([&] {
                const auto tx = store().begin();
                outbox().enqueue(*tx, news());
                if ((writer + i) % 4 == 0) {
                    tx->rollback();
                } else {
                    tx->commit();
                }
            });
        }
    });
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::delivered) == 300; }));
    dispatcher.close();
    EXPECT_EQ(deliveries.size(), 300U);
    for (const auto& [id, count] : deliveries) EXPECT_EQ(count, 1) << id;
}

TEST_P(HotPathLaw, StartAndStopUnderLoadLosesNothing) {
    std::mutex mutex;
    std::set<MessageId> delivered;
    const auto note = [&](const Message& m) {
        const std::lock_guard lock(mutex);
        delivered.insert(m.message_id);
    };
    const auto delivered_count = [&] {
        const std::lock_guard lock(mutex);
        return delivered.size();
    };
    std::atomic<bool> stop = false;
    std::atomic<std::size_t> written = 0;
    outbox();
    std::jthread writer([&] {
        while (!stop) {
            outbox().enqueue(news());
            ++written;
            std::this_thread::sleep_for(100us);
        }
    });
    for (int cycle = 0; cycle < 20; ++cycle) {
        Dispatcher dispatcher(store(), quick());
        dispatcher.on("order.placed", note);
        dispatcher.start();
        std::this_thread::sleep_for(5ms);
    }
    stop = true;
    writer.join();
    Dispatcher last(store(), quick());
    last.on("order.placed", note);
    last.start();
    EXPECT_TRUE(eventually([&] { return delivered_count() == written; }))
        << delivered_count() << " of " << written;
    EXPECT_TRUE(eventually([&] { return outbox().counts().ready == 0; }));
}

TEST_P(HotPathLaw, ANudgeFindsWhatTheDispatcherCannotSee) {
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), rarely_polling(quick()));
    dispatcher.on("order.placed", [&](const Message&) { ++calls; });
    dispatcher.start();
    ASSERT_TRUE(eventually([&] { return heard.count(EventKind::claimed) >= 1; }));
    const std::unique_ptr<Store> elsewhere_store = sandbox().reopen();
    const Outbox elsewhere_outbox(*elsewhere_store);
    const WorkItemId id = elsewhere_outbox.enqueue(news()).id;
    dispatcher.nudge();
    EXPECT_TRUE(eventually_state(id, State::done));
}

}  // namespace
}  // namespace postroom::test
