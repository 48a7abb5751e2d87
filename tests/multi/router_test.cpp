// From a key to the outbox or inbox of its database.
#include <set>
#include <thread>

#include "multi/tenants.hpp"
#include "postroom/error.hpp"
#include "postroom/tenancy.hpp"
#include "postroom/testing.hpp"

namespace postroom::test {
namespace {

class Routing : public Tenants {};

const Uuid tenant = *Uuid::parse("0191d6a4-6b1e-7c3f-8a55-0f2e9c4b7d10");

TEST_F(Routing, OBX_072_AKeyLeadsToTheOutboxOfItsDatabase) {
    FixedStores stores(three());
    const OutboxRouter outboxes(stores);
    for (const StorePtr& store : stores.stores()) {
        EXPECT_EQ(&outboxes.get(store->id()).store(), store.get());
        outboxes.get(store->id()).enqueue(message(store->id()));
    }
    for (const StorePtr& store : stores.stores()) {
        const std::vector<Message> there = store->find(Queue::outbox, {});
        ASSERT_EQ(there.size(), 1U);
        EXPECT_EQ(there[0].payload, store->id());
    }
}

TEST_F(Routing, IBX_091_AKeyLeadsToTheInboxOfItsDatabase) {
    FixedStores stores(three());
    const InboxRouter inboxes(stores);
    for (const StorePtr& store : stores.stores())
        EXPECT_EQ(&inboxes.get(store->id()).store(), store.get());
    EXPECT_FALSE(inboxes.get("south").already_processed({.source = "shop", .message_id = "1"}));
}

template <class Router>
void expect_unknown(const Router& router) {
    try {
        router.get("nobody");
        FAIL() << "found a store that is not there";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::misuse);
        EXPECT_NE(std::string(error.what()).find("'nobody'"), std::string::npos);
    }
    try {
        router.get(tenant);
        FAIL() << "found a store that is not there";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(tenant.to_string()), std::string::npos);
    }
}

TEST_F(Routing, OBX_073_AnUnknownKeyOfAnOutboxThrowsAndIsNamed) {
    FixedStores stores(three());
    expect_unknown(OutboxRouter(stores));
}

TEST_F(Routing, IBX_092_AnUnknownKeyOfAnInboxThrowsAndIsNamed) {
    FixedStores stores(three());
    expect_unknown(InboxRouter(stores));
}

TEST_F(Routing, OBX_074_AKeyIsATextOrAUuid) {
    FixedStores stores({open(sqlite("a")), open(sqlite(tenant.to_string()))});
    const OutboxRouter outboxes(stores);
    const InboxRouter inboxes(stores);
    EXPECT_EQ(outboxes.get(tenant).store().id(), tenant.to_string());
    EXPECT_EQ(&outboxes.get(tenant), &outboxes.get(tenant.to_string()));
    EXPECT_EQ(&inboxes.get(tenant), &inboxes.get(tenant.to_string()));
}

TEST_F(Routing, OBX_074_AUuidIsTheSameKeyInWhateverCase) {
    std::string shouted = tenant.to_string();
    for (char& c : shouted) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    FixedStores upper({open(sqlite(shouted))});
    EXPECT_EQ(OutboxRouter(upper).hold(tenant)->store().id(), shouted);
    EXPECT_EQ(InboxRouter(upper).hold(tenant.to_string())->store().id(), shouted);
    FixedStores lower({open(sqlite(tenant.to_string()))});
    EXPECT_EQ(OutboxRouter(lower).hold(shouted)->store().id(), tenant.to_string());
}

TEST_F(Routing, OBX_102_IBX_123_InstancesAreMadeOnceAndSharedByAllThreads) {
    FixedStores stores({open(sqlite("a")), open(sqlite("b"))});
    const OutboxRouter outboxes(stores);
    const InboxRouter inboxes(stores);
    std::mutex mutex;
    std::set<const void*> seen;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 200; ++i) {
                    const std::string key = i % 2 == 0 ? "a" : "b";
                    const void* const outbox = &outboxes.get(key);
                    const void* const inbox = &inboxes.get(key);
                    const std::lock_guard lock(mutex);
                    seen.insert({outbox, inbox});
                }
            });
    }
    EXPECT_EQ(seen.size(), 4U);
}

TEST_F(Routing, AStoreThatIsHeldOutlivesItsRemovalAndIsNotFoundAnyMore) {
    ListDiscovery discovery;
    discovery.set({sqlite("a")});
    DiscoveredStores stores(discovery);
    const OutboxRouter outboxes(stores);
    const std::shared_ptr<const Outbox> held = outboxes.hold("a");
    discovery.set({});
    EXPECT_TRUE(stores.refresh());
    EXPECT_THROW(outboxes.get("a"), Error);
    held->enqueue(message("m"));
    EXPECT_EQ(held->counts().ready, 1U);
}

TEST_F(Routing, AStoreThatWasReplacedGetsANewOutbox) {
    ListDiscovery discovery;
    discovery.set({sqlite("a")});
    DiscoveredStores stores(discovery);
    const OutboxRouter outboxes(stores);
    const std::shared_ptr<const Outbox> old = outboxes.hold("a");
    DiscoveredDatabase changed = sqlite("a");
    changed.options.pool_max = 2;
    discovery.set({changed});
    EXPECT_TRUE(stores.refresh());
    EXPECT_NE(outboxes.hold("a"), old);
    EXPECT_EQ(&outboxes.get("a").store(), stores.find("a").get());
}

}  // namespace
}  // namespace postroom::test
