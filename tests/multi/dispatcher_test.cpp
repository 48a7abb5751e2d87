// One dispatcher over databases on two engines.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "multi/tenants.hpp"
#include "postroom/error.hpp"
#include "postroom/inbox.hpp"
#include "postroom/observer.hpp"
#include "postroom/tenancy.hpp"
#include "postroom/testing.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

class ManyStores : public Tenants {
protected:
    // In memory: whose disk takes a second is a suspect, and its turn is not waited for.
    static FixedStores three_with_twenty_each() {
        std::vector<StorePtr> all;
        for (const char* const id : {"a", "b", "c"}) {
            all.push_back(std::make_shared<MemoryStore>(OpenOptions{.store_id = id}));
            for (int i = 0; i < 20; ++i) Outbox(*all.back()).enqueue(message("m"));
        }
        return FixedStores(all);
    }

    // One worker, and batches that show whose turn it is.
    DispatcherOptions one_by_one(std::shared_ptr<SelectionStrategy> strategy) {
        DispatcherOptions options = quick();
        options.worker_count = 1;
        options.batch = 5;
        options.strategy = std::move(strategy);
        return options;
    }
};

// With MariaDB or MySQL among them.
class ManyStoresOn : public ManyStores, public testing::WithParamInterface<std::string> {
protected:
    std::vector<StorePtr> three_here() {
        return three(GetParam() == "Mysql" ? "mysql" : "mariadb");
    }
};

INSTANTIATE_TEST_SUITE_P(, ManyStoresOn, testing::Values("Mariadb", "Mysql"),
                         [](const testing::TestParamInfo<std::string>& place) {
                             return place.param;
                         });

TEST_P(ManyStoresOn, OBX_066_EachDatabaseHasItsOwnStoreAndItsOwnMessages) {
    FixedStores stores(three_here());
    for (const StorePtr& store : stores.stores()) {
        // One by the hot path later; these are claimed.
        Outbox(*store).enqueue(message(store->id() + "-cold"));
    }
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return journal.size() == 3; }));
    for (const StorePtr& store : stores.stores())
        Outbox(*store).enqueue(message(store->id() + "-hot"));
    EXPECT_TRUE(eventually([&] { return journal.size() == 6; }));
    dispatcher.close();
    for (const std::string& entry : journal.entries()) {
        const std::string store = entry.substr(0, entry.find(':'));
        EXPECT_EQ(entry.find(":" + store + "-"), store.size()) << entry;
    }
    EXPECT_EQ(ear.count(EventKind::hot_enqueued, "north"), 1U);
    for (const StorePtr& store : stores.stores())
        EXPECT_FALSE(Outbox(*store).counts().oldest) << store->id();
}

TEST_P(ManyStoresOn, IBX_085_TheInboxesOfSeveralDatabasesAreServedEachFromItsOwn) {
    FixedStores stores(three_here());
    DispatcherOptions options = quick();
    options.queue = Queue::inbox;
    Dispatcher dispatcher(stores, options);
    handle(dispatcher);
    dispatcher.start();
    InboxRouter inboxes(stores);
    for (const char* const id : {"north", "south", "west"}) {
        ReceivedMessage received;
        received.topic = "t";
        received.source = "shop";
        received.message_id = "1";  // the same in each
        received.payload = id;
        inboxes.get(id).enqueue(received);
    }
    EXPECT_TRUE(eventually([&] {
        return journal.of("north") == 1 && journal.of("south") == 1 && journal.of("west") == 1;
    }));
    dispatcher.close();
    for (const char* const id : {"north", "south", "west"})
        EXPECT_TRUE(inboxes.get(id).already_processed({.source = "shop", .message_id = "1"}));
}

TEST_P(ManyStoresOn, OBX_071_IBX_090_OBX_090_IBX_113_EveryLineOfTheLogNamesTheStoreOfItsMessage) {
    std::mutex mutex;
    std::vector<std::string> lines;
    const auto write = [&](LogLevel, std::string_view text) {
        const std::lock_guard lock(mutex);
        lines.emplace_back(text);
    };
    LogObserver log({.write = write, .min_level = LogLevel::debug});
    FixedStores stores(three_here());
    DispatcherOptions options = quick();
    options.observer = &log;
    Dispatcher dispatcher(stores, options);
    handle(dispatcher);
    dispatcher.start();
    OutboxRouter outboxes(stores, {.queue = {.observer = &log}});
    for (const char* const id : {"north", "south", "west"}) outboxes.get(id).enqueue(message(id));
    EXPECT_TRUE(eventually([&] { return journal.size() == 3; }));
    dispatcher.close();
    std::set<std::string> named;
    for (const std::string& line : lines) {
        const std::size_t at = line.find("store=");
        ASSERT_NE(at, std::string::npos) << line;
        named.insert(line.substr(at + 6, line.find(' ', at) - at - 6));
    }
    EXPECT_EQ(named, (std::set<std::string>{"north", "south", "west"}));
}

TEST_F(ManyStores, OBX_068_IBX_087_RoundRobinTakesABatchFromEachInTurn) {
    FixedStores stores = three_with_twenty_each();
    Dispatcher dispatcher(stores, one_by_one(std::make_shared<RoundRobin>()));
    // Slowly enough for each store to have its turn, however late the thread that polls it runs.
    const auto all_were_polled = [this] {
        return ear.count(EventKind::claimed, "a") > 0 && ear.count(EventKind::claimed, "b") > 0 &&
               ear.count(EventKind::claimed, "c") > 0;
    };
    dispatcher.on("t", [&](const Message& m, HandlerContext& context) {
        std::this_thread::sleep_for(20ms);
        wait_until(all_were_polled, 1s);
        journal.note(context.store(), m.payload);
    });
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return journal.size() == 60; }));
    dispatcher.close();
    const std::vector<std::string> entries = journal.entries();
    std::set<char> first_half;
    for (std::size_t i = 0; i < 30; ++i) first_half.insert(entries[i][0]);
    EXPECT_EQ(first_half.size(), 3U) << "nobody waits until another is empty";
}

TEST_F(ManyStores, OBX_069_IBX_088_DrainFirstEmptiesOneStoreBeforeItTurnsToTheNext) {
    FixedStores stores = three_with_twenty_each();
    Dispatcher dispatcher(stores, one_by_one(std::make_shared<DrainFirst>()));
    handle(dispatcher);
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return journal.size() == 60; }));
    dispatcher.close();
    // Which store comes first is not said: one that is just being looked after is not polled.
    std::string turns;
    std::vector<std::size_t> began;
    const std::vector<std::string> entries = journal.entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (turns.find(entries[i][0]) != std::string::npos) continue;
        turns += entries[i][0];
        began.push_back(i);
    }
    ASSERT_EQ(turns.size(), 3U) << turns;
    // The last batch of one store may still wait for the worker when the next one is asked.
    EXPECT_GE(began[1], 15U) << turns;
    EXPECT_GE(began[2], 35U) << turns;
}

TEST_F(ManyStores, OBX_067_IBX_086_EveryPollIsOfAStoreThatTheStrategyChose) {
    struct Noting final : SelectionStrategy {
        std::optional<std::size_t> next(std::span<const PollCandidate> candidates,
                                        const LastPoll* last) const override {
            const auto chosen = RoundRobin().next(candidates, last);
            if (chosen) {
                const std::lock_guard lock(mutex);
                ++chosen_of[std::string(candidates[*chosen].store)];
            }
            return chosen;
        }
        mutable std::mutex mutex;
        mutable std::map<std::string, std::size_t> chosen_of;
    };
    const auto strategy = std::make_shared<Noting>();
    FixedStores stores(three());
    for (const StorePtr& store : stores.stores()) Outbox(*store).enqueue(message("m"));
    DispatcherOptions options = quick();
    options.strategy = strategy;
    Dispatcher dispatcher(stores, options);
    handle(dispatcher);
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return journal.size() == 3; }));
    dispatcher.close();
    for (const char* const id : {"north", "south", "west"})
        EXPECT_GE(ear.count(EventKind::claimed, id), 1U) << id;
    for (const char* const id : {"north", "south", "west"})
        EXPECT_GE(strategy->chosen_of[id], ear.count(EventKind::claimed, id)) << id;
}

TEST_F(ManyStores, HandlersAndDeliveriesOfEveryKindKnowTheirStore) {
    FixedStores stores(three());
    Dispatcher dispatcher(stores, quick());
    dispatcher.routes()
        .in_transaction("tx",
                        [this](const Message& m, HandlerContext& context) {
                            journal.note(context.store(), m.payload);
                        })
        .on_batch("batch", 5,
                  [this](std::span<const Message> messages, HandlerContext& context) {
                      for (const Message& m : messages) journal.note(context.store(), m.payload);
                      return std::vector<Verdict>(messages.size());
                  })
        .on_async("async", [this](Delivery delivery) {
            journal.note(delivery.store(), delivery.message().payload);
            delivery.done();
        });
    dispatcher.start();
    OutboxRouter outboxes(stores);
    for (const char* const id : {"north", "south", "west"})
        for (const char* const topic : {"tx", "batch", "async"})
            outboxes.get(id).enqueue(message(id, topic));
    EXPECT_TRUE(eventually([&] { return journal.size() == 9; }));
    dispatcher.close();
    for (const std::string& entry : journal.entries())
        EXPECT_EQ(entry.substr(0, entry.find(':')), entry.substr(entry.find(':') + 1));
}

TEST_F(ManyStores, ATopicPausedInAllStoresIsPausedInOneThatComesLater) {
    ListDiscovery discovery;
    discovery.set({sqlite("a")});
    DiscoveredStores stores(discovery);
    DispatcherOptions options = quick();
    options.hold_delay = 20ms;
    Dispatcher dispatcher(stores, options);
    handle(dispatcher);
    dispatcher.pause("t");
    dispatcher.start();
    discovery.set({sqlite("a"), sqlite("b")});
    EXPECT_TRUE(stores.refresh());
    OutboxRouter outboxes(stores);
    for (const char* const id : {"a", "b"}) outboxes.get(id).enqueue(message("m"));
    EXPECT_TRUE(eventually([&] {
        return ear.count(EventKind::released, "a") > 0 && ear.count(EventKind::released, "b") > 0;
    }));
    EXPECT_EQ(journal.size(), 0U);
    EXPECT_EQ(dispatcher.status().paused, std::vector<std::string>{"t"});
    EXPECT_EQ(dispatcher.status().stores, 2U);
    dispatcher.resume("t");
    EXPECT_TRUE(eventually([&] { return journal.of("a") == 1 && journal.of("b") == 1; }));
}

TEST_F(ManyStores, AMessageForLaterInAQuietStoreIsDeliveredInTime) {
    FixedStores stores({open(sqlite("a"))});
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    dispatcher.start();
    const StorePtr store = stores.stores().front();
    NewMessage later = message("later");
    later.due_time = store->now() + 2s;
    Outbox(*store).enqueue(later);
    EXPECT_TRUE(eventually([&] { return journal.size() == 1; }));
    EXPECT_GE(store->now(), *later.due_time);
    EXPECT_LT(store->now(), *later.due_time + 60s);
}

TEST_F(ManyStores, ThousandsOfMessagesFromManyThreadsOverTwoEnginesAreDeliveredEachOnce) {
    FixedStores stores(three());
    Dispatcher dispatcher(stores, quick());
    std::mutex mutex;
    std::map<std::string, int> seen;
    dispatcher.on("t", [&](const Message& m, HandlerContext& context) {
        const std::lock_guard lock(mutex);
        ++seen[std::string(context.store()) + m.payload];
    });
    dispatcher.start();
    OutboxRouter outboxes(stores);
    constexpr int per_thread = 200;
    {
        std::vector<std::jthread> writers;
        for (int t = 0; t < 3; ++t)
            writers.emplace_back([&, t] {
                for (int i = 0; i < per_thread; ++i)
                    for (const char* const id : {"north", "south", "west"})
                        outboxes.get(id).enqueue(message(fmt::format("{}-{}", t, i)));
            });
    }
    EXPECT_TRUE(eventually([&] {
        const std::lock_guard lock(mutex);
        return seen.size() == 3 * 3 * per_thread;
    }));
    dispatcher.close();
    for (const auto& [what, times] : seen) EXPECT_EQ(times, 1) << what;
}

TEST_F(ManyStores, OptionsThatNoStoreWouldAllowAreRefusedBeforeThereIsOne) {
    FixedStores none(std::vector<StorePtr>{});
    DispatcherOptions options = quick();
    options.worker_count = 0;
    EXPECT_THROW(Dispatcher(none, options), std::out_of_range);
    options = quick();
    options.batch = 0;
    EXPECT_THROW(Dispatcher(none, options), std::out_of_range);
    options = quick();
    options.lease = 48h;  // a store may allow that
    Dispatcher dispatcher(none, options);
}

// Goal: a dispatcher that could not start can be closed. Method: no descriptor is left.
TEST_F(ManyStores, AStartThatFailsLeavesNothingRunning) {
    const StorePtr store = std::make_shared<MemoryStore>(OpenOptions{.store_id = "a"});
    FixedStores stores({store});
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_THROW(dispatcher.start(), std::system_error);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_THROW(dispatcher.start(), Error) << "there is one start only";
    dispatcher.close();
    EXPECT_EQ(dispatcher.status().stores, 0U);
}

}  // namespace
}  // namespace postroom::test
