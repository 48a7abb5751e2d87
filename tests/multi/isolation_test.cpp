// Stores that hang, fail or are away, beside stores that are well.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <thread>

#include "conformance/forwarding_store.hpp"
#include "multi/tenants.hpp"
#include "postroom/error.hpp"
#include "postroom/tenancy.hpp"
#include "postroom/testing.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

// Does not answer, or answers with an error, while it is told to.
class Patient final : public ForwardingStore {
public:
    enum class Mood { well, hangs, fails };
    explicit Patient(Store& inner) : ForwardingStore(inner) {}

    void set(Mood mood) {
        const std::lock_guard lock(mutex_);
        mood_ = mood;
        changed_.notify_all();
    }
    int hanging() const { return hanging_; }
    int hanging_peak() const { return peak_; }

    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop) override {
        suffer();
        return ForwardingStore::claim(queue, request, stop);
    }
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override {
        suffer();
        return ForwardingStore::settle(tx, queue, settlements);
    }
    std::vector<bool> extend(Queue queue, std::span<const Lease> leases, Duration lease) override {
        suffer();
        return ForwardingStore::extend(queue, leases, lease);
    }
    std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop) override {
        suffer();
        return ForwardingStore::reap(queue, limit, stop);
    }

private:
    void suffer() {
        std::unique_lock lock(mutex_);
        if (mood_ == Mood::fails) throw Error(ErrorKind::unavailable, "down");
        if (mood_ == Mood::well) return;
        ++hanging_;
        peak_ = std::max(peak_.load(), hanging_.load());
        changed_.wait(lock, [&] { return mood_ != Mood::hangs; });
        --hanging_;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    Mood mood_ = Mood::well;
    std::atomic<int> hanging_ = 0;
    std::atomic<int> peak_ = 0;
};

class Isolation : public Tenants {
protected:
    static std::unique_ptr<MemoryStore> memory(const std::string& id) {
        return std::make_unique<MemoryStore>(OpenOptions{.store_id = id});
    }
};

TEST_F(Isolation, AStoreThatHangsHoldsUpNobodyElse) {
    const auto sick_inside = memory("sick");
    const auto sick = std::make_shared<Patient>(*sick_inside);
    const StorePtr well = open(sqlite("well"));
    FixedStores stores({sick, well});
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    sick->set(Patient::Mood::hangs);
    dispatcher.start();
    for (int i = 0; i < 100; ++i) Outbox(*well).enqueue(message("m"));
    EXPECT_TRUE(eventually([&] { return journal.of("well") == 100; }));
    EXPECT_TRUE(eventually([&] { return !Outbox(*well).counts().oldest; }));
    EXPECT_TRUE(eventually([&] { return sick->hanging() >= 1; }));
    EXPECT_LE(sick->hanging_peak(), 2);
    Outbox(*sick_inside).enqueue(message("m"));
    sick->set(Patient::Mood::well);
    EXPECT_TRUE(eventually([&] { return journal.of("sick") == 1; })) << "it is well again";
}

TEST_F(Isolation, ManyStoresThatFailLeaveTheOthersTheirThreads) {
    std::vector<std::unique_ptr<MemoryStore>> inside;
    std::vector<StorePtr> all;
    for (int i = 0; i < 50; ++i) {
        inside.push_back(memory("down-" + std::to_string(i)));
        const auto down = std::make_shared<Patient>(*inside.back());
        down->set(Patient::Mood::fails);
        all.push_back(down);
    }
    all.push_back(open(sqlite("well")));
    FixedStores stores(all);
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return ear.count(EventKind::store_failed, "down-49") > 0; }));
    for (int i = 0; i < 100; ++i) Outbox(*all.back()).enqueue(message("m"));
    EXPECT_TRUE(eventually([&] { return journal.of("well") == 100; }));
    // Each has a back-off of its own: 0.1 s, doubling up to poll_interval_max.
    EXPECT_GT(ear.count(EventKind::store_failed, "down-0", "claim"), 0U);
}

// Cannot be listened to, as one for whose bell the budget has no connection. Its claims wait a
// little for those of others.
class Deaf final : public ForwardingStore {
public:
    struct Meeting {
        std::mutex mutex{};
        std::condition_variable came{};
        int inside = 0;
        int most = 0;
    };
    Deaf(Store& inner, Meeting& meeting) : ForwardingStore(inner), meeting_(meeting) {}

    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop) override {
        {
            std::unique_lock lock(meeting_.mutex);
            meeting_.most = std::max(meeting_.most, ++meeting_.inside);
            meeting_.came.notify_all();
            meeting_.came.wait_for(lock, 300ms, [&] { return meeting_.most > 2; });
            --meeting_.inside;
        }
        return ForwardingStore::claim(queue, request, stop);
    }
    std::unique_ptr<Doorbell> doorbell(Queue) override {
        class Broken final : public Doorbell {
            void ring() noexcept override {}
            bool wait(Duration, std::stop_token) override { return false; }
            void listen(std::stop_token) override {
                throw Error(ErrorKind::unavailable, "no connection left");
            }
        };
        return std::make_unique<Broken>();
    }

private:
    Meeting& meeting_;
};

// Goal: a store is no suspect for want of a bell. Method: more of them than suspects may have
// threads are polled at the same time.
TEST_F(Isolation, StoresWhoseBellsCannotListenArePolledLikeAnyOther) {
    std::vector<std::unique_ptr<MemoryStore>> inside;
    std::vector<StorePtr> all;
    Deaf::Meeting meeting;
    for (int i = 0; i < 6; ++i) {
        inside.push_back(memory("deaf-" + std::to_string(i)));
        all.push_back(std::make_shared<Deaf>(*inside.back(), meeting));
    }
    FixedStores stores(all);
    DispatcherOptions options = quick();
    options.store_threads = 8;
    Dispatcher dispatcher(stores, options);
    handle(dispatcher);
    dispatcher.start();
    EXPECT_TRUE(eventually([&] {
        for (const StorePtr& store : all)
            if (ear.count(EventKind::store_failed, store->id(), "listen") == 0) return false;
        return true;
    }));
    {
        const std::lock_guard lock(meeting.mutex);
        meeting.most = 0;
    }
    EXPECT_TRUE(eventually([&] {
        const std::lock_guard lock(meeting.mutex);
        return meeting.most > 2;
    }));
}

// Goal: stores whose writers hand over more than the workers can do keep no other store from being
// polled. Method: one worker, which is busy, and more such stores than it may have stores with
// claimed messages.
TEST_F(Isolation, WhatWritersHandOverKeepsNoOtherStoreFromBeingPolled) {
    std::vector<StorePtr> all;
    for (int i = 0; i < 6; ++i) all.push_back(memory("hot-" + std::to_string(i)));
    all.push_back(open(sqlite("cold")));
    FixedStores stores(all);
    DispatcherOptions options = quick();
    options.worker_count = 1;
    Dispatcher dispatcher(stores, options);
    std::atomic<bool> may_end = false;
    dispatcher.on("t", [&](const Message& m, HandlerContext& context) {
        while (!may_end) std::this_thread::sleep_for(1ms);
        journal.note(context.store(), m.payload);
    });
    dispatcher.start();
    for (int i = 0; i < 6; ++i)
        for (int n = 0; n < 2; ++n) Outbox(*all[static_cast<std::size_t>(i)]).enqueue(message("m"));
    ASSERT_TRUE(eventually([&] { return dispatcher.status().hot_depth >= 11; }));
    const StorePtr elsewhere = open(sqlite("cold"));
    Outbox(*elsewhere).enqueue(message("m"));
    EXPECT_TRUE(eventually([&] { return dispatcher.status().cold_depth == 1; }));
    may_end = true;
    EXPECT_TRUE(eventually([&] { return journal.size() == 13; }));
}

TEST_F(Isolation, AServerThatIsAwayIsFoundAgainWhileTheFilesGoOn) {
    DiscoveredDatabase away = postgres("away");
    const StorePtr server = open(away);
    const StorePtr file = open(sqlite("file"));
    FixedStores stores({server, file});
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    dispatcher.start();
    OutboxRouter outboxes(stores);
    outboxes.get("away").enqueue(message("before"));
    ASSERT_TRUE(eventually([&] { return journal.of("away") == 1; }));
    // Nobody gets in any more, and who is in is thrown out.
    const std::string name = servers.back()->name();
    const PostgresServer admin;
    const std::string admin_url = admin.url("postgres");
    psql(admin_url, "ALTER DATABASE " + name + " ALLOW_CONNECTIONS false");
    psql(admin_url,
         "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'");
    for (int i = 0; i < 20; ++i) outboxes.get("file").enqueue(message("m"));
    EXPECT_TRUE(eventually([&] { return journal.of("file") == 20; }));
    EXPECT_TRUE(eventually([&] { return ear.count(EventKind::store_failed, "away") > 0; }));
    EXPECT_EQ(ear.count(EventKind::store_failed, "file"), 0U);
    psql(admin_url, "ALTER DATABASE " + name + " ALLOW_CONNECTIONS true");
    servers.back()->psql("INSERT INTO infra.outbox_live (topic, payload) VALUES ('t', 'after')");
    EXPECT_TRUE(eventually([&] {
        const std::vector<std::string> entries = journal.entries();
        return std::find(entries.begin(), entries.end(), "away:after") != entries.end();
    }));
}

TEST_F(Isolation, ADispatcherWithAHangingStoreClosesWhenThatAnswers) {
    const auto inside = memory("sick");
    const auto sick = std::make_shared<Patient>(*inside);
    FixedStores stores({sick});
    sick->set(Patient::Mood::hangs);
    Dispatcher dispatcher(stores, quick());
    handle(dispatcher);
    dispatcher.start();
    ASSERT_TRUE(eventually([&] { return sick->hanging() > 0; }));
    std::jthread healer([&] {
        std::this_thread::sleep_for(50ms);
        sick->set(Patient::Mood::well);
    });
    dispatcher.close();
    EXPECT_EQ(sick->hanging(), 0);
}

}  // namespace
}  // namespace postroom::test
