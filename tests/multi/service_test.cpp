// The builder: one database, several, and those that are discovered.
#include "postroom/service.hpp"

#include "multi/tenants.hpp"
#include "postroom/error.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

class Services : public Tenants {
protected:
    SqlOutboxOptions outbox_at(const std::string& id) {
        return {.url = sqlite(id).url, .id = id, .enable_schema_deployment = true};
    }
    SqlInboxOptions inbox_at(const std::string& id) {
        return {.url = sqlite(id).url, .id = id, .enable_schema_deployment = true};
    }
    void note(const Message& m, HandlerContext& context) {
        journal.note(context.store(), m.payload);
    }
    auto noting() {
        return [this](const Message& m, HandlerContext& context) { note(m, context); };
    }
};

TEST_F(Services, TheDefaultsAreThoseOfTheSpecifications) {
    EXPECT_EQ(PollingOptions{}.polling_interval, 500ms);
    EXPECT_EQ(PollingOptions{}.batch_size, 50U);
    EXPECT_EQ(PollingOptions{}.lease, 30s);
    EXPECT_EQ(SqlOutboxOptions{}.schema_name, "infra");
    EXPECT_EQ(SqlOutboxOptions{}.table_name, "outbox");
    EXPECT_FALSE(SqlOutboxOptions{}.enable_schema_deployment);
    EXPECT_EQ(SqlInboxOptions{}.schema_name, "infra");
    EXPECT_EQ(SqlInboxOptions{}.table_name, "inbox");
    EXPECT_FALSE(SqlInboxOptions{}.enable_schema_deployment);
}

TEST_F(Services, OneDatabaseIsReachedWithoutAKey) {
    const auto service = ServiceBuilder()
                             .outbox(outbox_at("only"))
                             .inbox(inbox_at("only"))
                             .on_outbox("t", noting())
                             .on_inbox("t", noting())
                             .build();
    service->start();
    service->outbox().enqueue(message("out"));
    ReceivedMessage received;
    received.topic = "t";
    received.source = "shop";
    received.message_id = "1";
    received.payload = "in";
    service->inbox().enqueue(received);
    EXPECT_TRUE(eventually([&] { return journal.of("only") == 2; }));
}

TEST_F(Services, SeveralDatabasesAreReachedByTheirKeysAndShareABudget) {
    const auto service = ServiceBuilder()
                             .outboxes({outbox_at("a"), outbox_at("b"), outbox_at("c")})
                             .on_outbox("t", noting())
                             .strategy(std::make_shared<DrainFirst>())
                             .polling({.polling_interval = 50ms, .batch_size = 10})
                             .connections_max(4)
                             .worker_count(2)
                             .observer(ear)
                             .build();
    service->start();
    for (const char* const id : {"a", "b", "c"}) service->outboxes().get(id).enqueue(message(id));
    EXPECT_TRUE(eventually([&] { return journal.size() == 3; }));
    EXPECT_THROW(service->outbox(), Error);
    EXPECT_THROW(service->inboxes(), Error);
    service->close();
}

TEST_F(Services, DiscoveredDatabasesAreServedAsTheyCome) {
    ListDiscovery discovery;
    discovery.set({sqlite("a")});
    const auto service = ServiceBuilder()
                             .discover_outboxes(discovery, 10ms)
                             .discover_inboxes(discovery, 10ms)
                             .on_outbox("t", noting())
                             .build();
    service->start();
    discovery.set({sqlite("a"), sqlite("b")});
    EXPECT_TRUE(eventually([&] {
        try {
            service->outboxes().get("b").enqueue(message("m"));
            return true;
        } catch (const Error&) {
            return false;
        }
    }));
    EXPECT_TRUE(eventually([&] { return journal.of("b") == 1; }));
}

TEST_F(Services, AListAndADiscoveryForOneQueueAreRefused) {
    ListDiscovery discovery;
    EXPECT_THROW(ServiceBuilder().outbox(outbox_at("a")).discover_outboxes(discovery).build(),
                 Error);
}

TEST_F(Services, AQueueWithoutHandlersIsLeftToOtherProcesses) {
    const auto service = ServiceBuilder().outbox(outbox_at("a")).build();
    service->start();
    service->outbox().enqueue(message("m"));
    EXPECT_EQ(service->outbox_dispatcher().status().stores, 0U);
    EXPECT_EQ(service->outbox().counts().ready, 1U);
}

}  // namespace
}  // namespace postroom::test
