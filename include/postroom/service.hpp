// ServiceBuilder: everything an application needs of Postroom, put together in one place.
//
//   auto service = ServiceBuilder()
//       .outboxes({{.url = "postgresql://app@db/north", .id = "north"},
//                  {.url = "sqlite:south.db", .id = "south"}})
//       .on_outbox("order.placed", [](const Message& m) { send_mail(m.payload); })
//       .connections_max(64)
//       .build();
//   service->start();
//   service->outboxes().get("north").enqueue({.topic = "order.placed", .payload = "17"});
//
// One database is outbox(), a list that does not change outboxes(), one that the application looks
// up discover_outboxes(); the same for the inbox. A queue comes from a list or from a discovery,
// not from both. Whoever wants other options than these builds providers, routers and dispatchers
// directly: there is nothing more behind it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "postroom/dispatcher.hpp"
#include "postroom/tenancy.hpp"

namespace postroom {

struct SqlOutboxOptions {
    std::string url{};
    std::string id{};  // the routing key; empty: the URL without secrets
    std::string schema_name = "infra";
    std::string table_name = "outbox";
    bool enable_schema_deployment = false;
};

struct SqlInboxOptions {
    std::string url{};
    std::string id{};
    std::string schema_name = "infra";
    std::string table_name = "inbox";
    bool enable_schema_deployment = false;
};

struct PollingOptions {
    // Between two polls of a store that has nothing; where nobody rings, up to ten times as long.
    Duration polling_interval = std::chrono::milliseconds{500};
    std::uint32_t batch_size = 50;
    Duration lease = std::chrono::seconds{30};
};

// Thread safety: start() and close() by one thread; the routers by any.
class Service {
public:
    // Made by a ServiceBuilder.
    struct Parts;
    explicit Service(std::unique_ptr<Parts> parts);
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    ~Service();

    // Error{misuse} when no such queue was asked for.
    OutboxRouter& outboxes() const;
    InboxRouter& inboxes() const;
    Dispatcher& outbox_dispatcher() const;
    Dispatcher& inbox_dispatcher() const;

    // The only one there is. Error{misuse} where there are more, or none.
    const Outbox& outbox() const;
    const Inbox& inbox() const;

    // As Dispatcher's, for both queues. A queue without handlers is not dispatched: its messages
    // are for another process.
    void start();
    void close();

private:
    const std::unique_ptr<Parts> parts_;
};

// Thread safety: one thread.
class ServiceBuilder {
public:
    ServiceBuilder();
    ~ServiceBuilder();
    ServiceBuilder(const ServiceBuilder&) = delete;
    ServiceBuilder& operator=(const ServiceBuilder&) = delete;

    ServiceBuilder& outbox(SqlOutboxOptions database) { return outboxes({std::move(database)}); }
    ServiceBuilder& outboxes(std::vector<SqlOutboxOptions> databases);
    // `discovery` must outlive the service.
    ServiceBuilder& discover_outboxes(DatabaseDiscovery& discovery,
                                      Duration refresh_interval = std::chrono::minutes{5});

    ServiceBuilder& inbox(SqlInboxOptions database) { return inboxes({std::move(database)}); }
    ServiceBuilder& inboxes(std::vector<SqlInboxOptions> databases);
    ServiceBuilder& discover_inboxes(DatabaseDiscovery& discovery,
                                     Duration refresh_interval = std::chrono::minutes{5});

    // Handlers, for the messages of all databases.
    Routes& outbox_routes();
    Routes& inbox_routes();
    template <class... Arguments>
    ServiceBuilder& on_outbox(Arguments&&... arguments) {
        outbox_routes().on(std::forward<Arguments>(arguments)...);
        return *this;
    }
    template <class... Arguments>
    ServiceBuilder& on_inbox(Arguments&&... arguments) {
        inbox_routes().on(std::forward<Arguments>(arguments)...);
        return *this;
    }

    ServiceBuilder& polling(const PollingOptions& options);
    ServiceBuilder& strategy(std::shared_ptr<const SelectionStrategy> strategy);
    // Open at the same time, of all databases together.
    ServiceBuilder& connections_max(std::size_t count);
    ServiceBuilder& worker_count(std::uint32_t count);
    // Must outlive the service.
    ServiceBuilder& observer(Observer& observer);

    // Opens the databases; throws as open_store() does, Error{misuse} for a queue that comes from a
    // list and from a discovery. The builder is used up.
    std::unique_ptr<Service> build(OpenStore open = &open_store);

private:
    struct Plan;
    std::unique_ptr<Plan> plan_;
};

}  // namespace postroom
