// The code of the guides, which is compiled here and never run; blocks.py compares the two. What
// the code of a reader would have stands between the regions.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postroom/adapter/pqxx.hpp"
#include "postroom/adapter/soci.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/backend/postgres.hpp"
#include "postroom/backend/sqlite.hpp"
#include "postroom/open_store.hpp"
#include "postroom/postroom.hpp"
#include "postroom/service.hpp"
#include "postroom/sink.hpp"
#include "postroom/tenancy.hpp"
#include "postroom/testing.hpp"

namespace postroom::docs_snippets {

using namespace std::chrono_literals;

struct Tenant {
    std::string name;
    std::string url;
};

struct Directory {
    std::vector<Tenant> tenants() const;
};

class Audit final : public Interceptor {};

void send_mail(const std::string& payload);
void send_mail(std::string_view store, const std::string& payload);
void trace_begin(const Message& message);
void trace_end(const Message& message, std::string_view error);
bool send(const Message& message);
void book(TxContext& tx, const Message& message);
void place_order(Store& store, int order_id);
void look_at(const Message& message);

void dispatcher_first(const std::string& url) {
    // [dispatcher-first]
    auto store = postroom::open_store(url);
    Dispatcher dispatcher(*store);
    dispatcher.on("order.placed", [](const Message& m) { send_mail(m.payload); });
    dispatcher.start();
    // ...
    dispatcher.close();  // or the destructor
    // [/dispatcher-first]
}

void dispatcher_retries() {
    // [dispatcher-retries]
    DispatcherOptions options;
    options.retry = RetryPolicy::fast();
    options.topics["invoice.send"].retry = RetryPolicy::minutes();
    options.topics["invoice.send"].destination = "erp";
    // [/dispatcher-retries]
    options.retry.own = [](std::uint32_t n) { return n * 10s; };
    options.topics["mail.welcome"].rate = std::make_shared<SendRate>(10);
}

void dispatcher_interceptors(Dispatcher& dispatcher) {
    // [dispatcher-interceptors]
    dispatcher.before([](const Message& m) { trace_begin(m); });
    dispatcher.after([](const Message& m, std::string_view error) { trace_end(m, error); });
    dispatcher.intercept(std::make_shared<Audit>());  // both
    // [/dispatcher-interceptors]
}

void dispatcher_own_loop(const Outbox& outbox, const std::stop_token& stop) {
    // [dispatcher-own-loop]
    for (const Message& message : outbox.claim_due(10, stop)) {
        if (send(message)) {
            outbox.ack(message);
        } else {
            outbox.abandon(message, "not now");  // again after the back-off; also fail(), release()
        }
    }
    // [/dispatcher-own-loop]
}

void dispatcher_settle(const std::unique_ptr<Store>& store, const Inbox& inbox,
                       const Message& message) {
    // [dispatcher-settle]
    const auto tx = store->begin();
    book(*tx, message);
    if (inbox.ack(*tx, message) == Settled::done) tx->commit();
    // [/dispatcher-settle]
}

void dispatcher_testing() {
    // [dispatcher-testing]
    ManualClock clock;
    MemoryStore store(clock);
    place_order(store, 17);  // your code
    Routes routes;
    routes.on("order.placed", [&](const Message& m) { send_mail(m.payload); });
    EXPECT_EQ(drain(store, routes), 1u);
    clock.advance(1min);  // retries fall due
    drain(store, routes);
    // [/dispatcher-testing]
}

void ordering_key(const Outbox& outbox, const std::unique_ptr<Transaction>& tx,
                  const std::string& json) {
    // [ordering-key]
    NewMessage message{.topic = "account.debited", .payload = json};
    message.ordering_key = "account-4711";
    outbox.enqueue(*tx, message);
    // [/ordering-key]
}

void ordering_blocking(const std::unique_ptr<Store>& store) {
    // [ordering-blocking]
    for (const Message& first : store->find(Queue::outbox, {.blocking = true})) look_at(first);
    // [/ordering-blocking]
}

void several_fixed() {
    // [several-fixed]
    FixedStores stores({open_store("postgresql://app@db/north", {.store_id = "north"}),
                        open_store("sqlite:south.db", {.store_id = "south"})});
    // [/several-fixed]
}

// [several-discovery]
class Tenants final : public DatabaseDiscovery {
public:
    explicit Tenants(const Directory& directory) : directory_(directory) {}

    std::vector<DiscoveredDatabase> discover(std::stop_token) override {
        std::vector<DiscoveredDatabase> out;
        for (const Tenant& tenant : directory_.tenants())
            out.push_back(
                {.id = tenant.name, .url = tenant.url, .options = {.deploy_schema = true}});
        return out;
    }

private:
    const Directory& directory_;
};
// [/several-discovery]

void several_discovered(const Directory& directory, Observer& log) {
    // [several-budget]
    auto budget = std::make_shared<ConnectionBudget>(64);
    // [/several-budget]
    // [several-discovered]
    Tenants tenants(directory);
    DiscoveredStores stores(tenants, {.budget = budget, .observer = &log});
    // [/several-discovered]
}

void several_enqueue(StoreProvider& stores, TxContext& tx, const std::string& json,
                     const Uuid& tenant_uuid) {
    // [several-enqueue]
    OutboxRouter outboxes(stores);
    outboxes.get("north").enqueue(tx, {.topic = "order.placed", .payload = json});
    outboxes.get(tenant_uuid).counts();  // a UUID stands for its canonical text
    // [/several-enqueue]
}

void several_dispatch(StoreProvider& stores) {
    // [several-dispatch]
    Dispatcher dispatcher(stores, {.worker_count = 8});
    dispatcher.on("order.placed", [](const Message& m, HandlerContext& context) {
        send_mail(context.store(), m.payload);  // which database it is from
    });
    dispatcher.start();
    // [/several-dispatch]
}

void several_service(Tenants& tenants) {
    // [several-service]
    auto service = ServiceBuilder()
                       .discover_outboxes(tenants)
                       .on_outbox("order.placed", [](const Message& m) { send_mail(m.payload); })
                       .connections_max(64)
                       .build();
    service->start();
    service->outboxes().get("north").enqueue({.topic = "order.placed", .payload = "17"});
    // [/several-service]
}

void adapters_pqxx(pqxx::connection& connection, const Outbox& outbox, const NewMessage& message) {
    // [adapters-pqxx]
    pqxx::work work(connection);
    work.exec("INSERT INTO orders VALUES ('first')");
    postroom::adapter::PqxxContext tx(work);
    outbox.enqueue(tx, message);
    work.commit();
    // [/adapters-pqxx]
}

void adapters_pqxx_ends(pqxx::connection& connection, const Outbox& outbox,
                        const NewMessage& message) {
    bool committed = false;
    bool rolled_back = false;
    // [adapters-pqxx-ends]
    pqxx::work work(connection);
    postroom::adapter::PqxxTransaction tx(work);
    work.exec("INSERT INTO orders VALUES ('first')");
    outbox.enqueue(tx, message);
    tx.after_commit([&] { committed = true; });
    tx.after_rollback([&] { rolled_back = true; });
    tx.commit();
    // [/adapters-pqxx-ends]
}

void adapters_soci(soci::session& session, const Outbox& outbox, const NewMessage& message) {
    // [adapters-soci]
    soci::transaction transaction(session);
    session << "INSERT INTO orders VALUES ('first')";
    postroom::adapter::SociContext tx(session);
    outbox.enqueue(tx, message);
    transaction.commit();
    // [/adapters-soci]
}

void adapters_soci_ends(soci::session& session, const Outbox& outbox, const NewMessage& message) {
    bool committed = false;
    bool rolled_back = false;
    // [adapters-soci-ends]
    soci::transaction transaction(session);
    postroom::adapter::SociTransaction tx(session, transaction);
    session << "INSERT INTO orders VALUES ('first')";
    outbox.enqueue(tx, message);
    tx.after_commit([&] { committed = true; });
    tx.after_rollback([&] { rolled_back = true; });
    tx.commit();
    // [/adapters-soci-ends]
}

void adapters_borrow(sqlite3* sqlite, pg_conn* libpq, st_mysql* connector) {
    // [adapters-borrow]
    std::unique_ptr<postroom::TxContext> in_sqlite = postroom::sqlite::borrow(sqlite);
    std::unique_ptr<postroom::TxContext> in_postgres = postroom::postgres::borrow(libpq);
    std::unique_ptr<postroom::TxContext> in_mysql = postroom::mysql::borrow(connector);
    // [/adapters-borrow]
}

void adapters_statement(const Outbox& outbox, const NewMessage& message) {
    // [adapters-statement]
    const SqlStatement statement = outbox.statement(message);
    // [/adapters-statement]
}

void sink_http(Dispatcher& dispatcher, const std::string& secret_from_your_vault) {
    // [sink-http]
    auto sink = postroom::make_sink({.name = "shop",
                                     .type = "http",
                                     .settings = {{"url", "https://example.com/hooks/orders"},
                                                  {"signing_keys", secret_from_your_vault}}});
    dispatcher.routes().on_batch("order.placed", 50, postroom::handler_of(std::move(sink)));
    // [/sink-http]
}

void sink_rabbitmq(Dispatcher& dispatcher, const std::string& url_with_password) {
    // [sink-rabbitmq]
    auto sink =
        postroom::make_sink({.name = "orders",
                             .type = "rabbitmq",
                             .settings = {{"url", url_with_password}, {"exchange", "events"}}});
    dispatcher.routes().on_batch("order.placed", 200, postroom::handler_of(std::move(sink)));
    // [/sink-rabbitmq]
}

void sink_kafka(Dispatcher& dispatcher) {
    // [sink-kafka]
    auto sink = postroom::make_sink(
        {.name = "orders", .type = "kafka", .settings = {{"brokers", "k1.example.com:9093"}}});
    dispatcher.routes().on_batch("order.placed", 200, postroom::handler_of(std::move(sink)));
    // [/sink-kafka]
}

void sink_stdout(Dispatcher& dispatcher) {
    // [sink-stdout]
    auto sink = postroom::make_sink(
        {.name = "audit", .type = "stdout", .settings = {{"path", "audit.jsonl"}}});
    dispatcher.routes().on_batch("order.placed", 50, postroom::handler_of(std::move(sink)));
    // [/sink-stdout]
}

}  // namespace postroom::docs_snippets
