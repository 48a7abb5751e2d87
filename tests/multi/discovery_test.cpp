// Databases that come and go while everything runs.
#include <atomic>
#include <thread>

#include "multi/tenants.hpp"
#include "postroom/tenancy.hpp"
#include "postroom/testing.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

class Discovery : public Tenants {
protected:
    ListDiscovery discovery;
};

// With databases that are all on the engine of this place.
class DiscoveryOn : public Discovery, public testing::WithParamInterface<std::string> {
protected:
    // The same database for the same id.
    DiscoveredDatabase database(const std::string& id) {
        const auto at = known_.find(id);
        return at != known_.end() ? at->second : known_.emplace(id, another(id)).first->second;
    }
    // A new one, which the id has not led to before.
    DiscoveredDatabase another(const std::string& id) {
        if (GetParam() == "Sqlite") {
            DiscoveredDatabase made = sqlite(id + std::to_string(++files_));
            made.id = id;
            return made;
        }
        if (GetParam() == "Postgres") return postgres(id);
        return mariadb(id, GetParam() == "Mysql" ? "mysql" : "mariadb");
    }

private:
    std::map<std::string, DiscoveredDatabase> known_;
    int files_ = 0;
};

INSTANTIATE_TEST_SUITE_P(, DiscoveryOn, testing::Values("Sqlite", "Postgres", "Mariadb", "Mysql"),
                         [](const testing::TestParamInfo<std::string>& place) {
                             return place.param;
                         });

TEST_F(Discovery, OBX_076_IBX_094_TheDefaultIntervalIsFiveMinutes) {
    EXPECT_EQ(DiscoveryOptions{}.refresh_interval, 5min);
    discovery.set({});
    EXPECT_THROW(DiscoveredStores(discovery, {.refresh_interval = 0s}), std::invalid_argument);
}

TEST_F(Discovery, OBX_075_IBX_093_TheApplicationIsAskedAgainAndAgain) {
    DiscoveredStores stores(discovery, {.refresh_interval = 5ms});
    EXPECT_GE(discovery.calls(), 1) << "once before the constructor returns";
    EXPECT_TRUE(eventually([&] { return discovery.calls() > 5; }));
}

TEST_P(DiscoveryOn, OBX_077_IBX_095_ADatabaseThatComesIsServedWithoutARestart) {
    discovery.set({database("a")});
    DiscoveredStores stores(discovery, {.refresh_interval = 20ms});
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    dispatcher.start();
    discovery.set({database("a"), database("b")});
    EXPECT_TRUE(eventually([&] { return stores.find("b") != nullptr; }));
    OutboxRouter(stores).get("b").enqueue(message("m"));
    EXPECT_TRUE(eventually([&] { return journal.of("b") == 1; }));
    EXPECT_EQ(stores.stores().size(), 2U);
}

TEST_P(DiscoveryOn, OBX_078_IBX_096_ADatabaseThatGoesIsClosedAfterItsHandlersHaveFinished) {
    discovery.set({database("a"), database("b")});
    DiscoveredStores stores(discovery);
    Dispatcher dispatcher(stores, quick());
    std::atomic<bool> running = false;
    std::atomic<bool> may_end = false;
    std::atomic<int> done = 0;
    dispatcher.on("t", [&](const Message&) {
        running = true;
        while (!may_end) std::this_thread::sleep_for(1ms);
        ++done;
    });
    dispatcher.start();
    const std::string url = database("b").url;
    Outbox(*stores.find("b")).enqueue(message("m"));
    ASSERT_TRUE(eventually([&] { return running.load(); }));
    std::weak_ptr<Store> gone = stores.find("b");
    discovery.set({database("a")});
    EXPECT_TRUE(stores.refresh());
    EXPECT_EQ(stores.find("b"), nullptr);
    std::this_thread::sleep_for(100ms);
    EXPECT_FALSE(gone.expired()) << "its handler runs";
    may_end = true;
    EXPECT_TRUE(eventually([&] { return gone.expired(); }));
    EXPECT_EQ(done, 1);
    EXPECT_EQ(ear.count(EventKind::delivered, "b"), 1U);
    EXPECT_TRUE(eventually([&] { return dispatcher.status().stores == 1; }));
    // The outcome was stored before it was closed.
    EXPECT_FALSE(Outbox(*open_store(url)).counts().oldest);
    Outbox(*stores.find("a")).enqueue(message("m"));
    EXPECT_TRUE(eventually([&] { return done == 2; })) << "the others go on";
}

TEST_P(DiscoveryOn, WhatWaitsInAStoreThatGoesIsReleasedForOthers) {
    discovery.set({database("a")});
    DiscoveredStores stores(discovery);
    DispatcherOptions options = quick();
    options.worker_count = 1;
    Dispatcher dispatcher(stores, options);
    std::atomic<bool> may_end = false;
    std::atomic<int> started = 0;
    dispatcher.on("t", [&](const Message&) {
        ++started;
        while (!may_end) std::this_thread::sleep_for(1ms);
    });
    const StorePtr other = open(database("a"));
    for (int i = 0; i < 10; ++i) Outbox(*other).enqueue(message("m"));
    dispatcher.start();
    ASSERT_TRUE(eventually([&] { return started == 1 && dispatcher.status().cold_depth == 9; }));
    discovery.set({});
    EXPECT_TRUE(stores.refresh());
    EXPECT_TRUE(eventually([&] { return Outbox(*other).counts().ready == 9; }));
    may_end = true;
    EXPECT_TRUE(eventually([&] { return dispatcher.status().stores == 0; }));
    EXPECT_EQ(started, 1);
    EXPECT_EQ(Outbox(*other).counts().in_progress, 0U);
}

TEST_P(DiscoveryOn, OBX_079_IBX_097_WhatIsUnchangedIsNotOpenedAgain) {
    std::atomic<int> opened = 0;
    discovery.set({database("a"), database("b")});
    DiscoveredStores stores(discovery, {.refresh_interval = 5ms},
                            [&](const std::string& url, const OpenOptions& options) {
                                ++opened;
                                return open_store(url, options);
                            });
    const std::vector<StorePtr> before = stores.stores();
    EXPECT_TRUE(eventually([&] { return discovery.calls() > 10; }));
    EXPECT_EQ(stores.stores(), before);
    EXPECT_EQ(opened, 2);
}

TEST_P(DiscoveryOn, ADatabaseThatMovedIsServedAtItsNewPlaceUnderItsOldId) {
    discovery.set({database("a")});
    DiscoveredStores stores(discovery);
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    dispatcher.start();
    const std::weak_ptr<Store> old = stores.find("a");
    DiscoveredDatabase moved = another("a");
    discovery.set({moved});
    EXPECT_TRUE(stores.refresh());
    ASSERT_NE(stores.find("a"), nullptr);
    EXPECT_TRUE(eventually([&] { return old.expired(); }));
    OutboxRouter(stores).get("a").enqueue(message("m"));
    EXPECT_TRUE(eventually([&] { return journal.of("a") == 1; }));
}

TEST_F(Discovery, AFailedDiscoveryKeepsTheStoresAndIsTold) {
    discovery.set({sqlite("a")});
    DiscoveredStores stores(discovery, {.observer = &ear});
    discovery.fail("the directory does not answer");
    EXPECT_FALSE(stores.refresh());
    EXPECT_NE(stores.find("a"), nullptr);
    EXPECT_EQ(ear.count(EventKind::store_failed, "", "discover"), 1U);
    EXPECT_EQ(ear.heard().back().error, "the directory does not answer");
    discovery.fail("");
    discovery.set({sqlite("a"), sqlite("a")});
    EXPECT_FALSE(stores.refresh()) << "two of one id";
    EXPECT_EQ(stores.stores().size(), 1U);
}

TEST_F(Discovery, AFirstDiscoveryThatFailsIsRepeatedSoon) {
    discovery.fail("not yet");
    discovery.set({sqlite("a")});
    DiscoveredStores stores(discovery, {.retry_interval = 10ms, .observer = &ear});
    EXPECT_TRUE(stores.stores().empty());
    discovery.fail("");
    EXPECT_TRUE(eventually([&] { return stores.find("a") != nullptr; }));
}

TEST_F(Discovery, ADatabaseThatCannotBeOpenedDoesNotKeepTheOthersAwayAndIsTriedAgain) {
    DiscoveredDatabase broken{.id = "broken",
                              .url = "sqlite:" + (directory / "no/file.db").string()};
    broken.options.deploy_schema = true;
    discovery.set({broken, sqlite("a")});
    DiscoveredStores stores(discovery, {.retry_interval = 10ms, .observer = &ear});
    EXPECT_NE(stores.find("a"), nullptr);
    EXPECT_EQ(stores.find("broken"), nullptr);
    EXPECT_GE(ear.count(EventKind::store_failed, "broken", "open"), 1U);
    std::filesystem::create_directory(directory / "no");
    EXPECT_TRUE(eventually([&] { return stores.find("broken") != nullptr; }));
}

// Goal: databases that do not answer while they are opened hold up neither the others that came
// with them nor those that went.
TEST_F(Discovery, DatabasesThatHangWhileTheyAreOpenedHoldUpNobodyElse) {
    std::atomic<bool> answers = false;
    std::atomic<int> hanging = 0;
    discovery.set({sqlite("a"), sqlite("b")});
    DiscoveredStores stores(discovery, {}, [&](const std::string& url, const OpenOptions& options) {
        if (options.store_id.starts_with("slow")) {
            ++hanging;
            while (!answers) std::this_thread::sleep_for(1ms);
        }
        return open_store(url, options);
    });
    discovery.set({sqlite("slow-1"), sqlite("slow-2"), sqlite("a"), sqlite("c"), sqlite("d")});
    std::jthread refresh([&] { EXPECT_TRUE(stores.refresh()); });
    EXPECT_TRUE(eventually([&] {
        return hanging == 2 && stores.find("c") != nullptr && stores.find("d") != nullptr;
    }));
    EXPECT_EQ(stores.find("b"), nullptr);
    answers = true;
    refresh.join();
    std::vector<std::string> ids;
    for (const StorePtr& store : stores.stores()) ids.push_back(store->id());
    EXPECT_EQ(ids, (std::vector<std::string>{"a", "slow-1", "slow-2", "c", "d"}));
}

TEST_P(DiscoveryOn, StoresThatComeAndGoUnderLoadLoseNothing) {
    discovery.set({database("a"), database("b")});
    DiscoveredStores stores(discovery);
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    dispatcher.start();
    std::atomic<int> written = 0;
    std::atomic<bool> stop = false;
    std::jthread writer([&] {
        // A process of its own, which knows nothing of the discovery.
        const StorePtr a = open(database("a"));
        const StorePtr b = open(database("b"));
        while (!stop) {
            Outbox(*a).enqueue(message("m"));
            Outbox(*b).enqueue(message("m"));
            written += 2;
        }
    });
    for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(10ms);
        discovery.set(i % 2 == 0 ? std::vector{database("a")}
                                 : std::vector{database("a"), database("b")});
        stores.refresh();
    }
    stop = true;
    writer.join();
    EXPECT_TRUE(eventually([&] { return journal.size() >= static_cast<std::size_t>(written); }));
    EXPECT_TRUE(eventually([&] {
        const StorePtr a = stores.find("a");
        const StorePtr b = stores.find("b");  // not there while it could not be opened again
        return a && b && !Outbox(*a).counts().oldest && !Outbox(*b).counts().oldest;
    }));
}

}  // namespace
}  // namespace postroom::test
