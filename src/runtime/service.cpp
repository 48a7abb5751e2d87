#include "postroom/service.hpp"

#include <optional>

#include "postroom/error.hpp"

namespace postroom {

namespace {

constexpr int idle_factor = 10;  // of the polling interval, when nothing comes

struct Opened {
    std::string url{};
    OpenOptions options{};
};

// Where the databases of a queue come from, and what is done with its messages.
struct QueuePlan {
    std::vector<Opened> databases{};
    DatabaseDiscovery* discovery = nullptr;
    Duration refresh_interval{};
    Routes routes{};
    bool dispatched = false;

    bool wanted() const { return discovery != nullptr || !databases.empty(); }
};

template <class Options>
OpenOptions open_options(const Options& given) {
    OpenOptions options{.schema = given.schema_name,
                        .deploy_schema = given.enable_schema_deployment};
    options.store_id = given.id;
    return options;
}

std::unique_ptr<StoreProvider> make_provider(const QueuePlan& plan,
                                             const std::shared_ptr<ConnectionBudget>& budget,
                                             Observer* observer, const OpenStore& open) {
    if (plan.discovery != nullptr) {
        if (!plan.databases.empty())
            throw Error(ErrorKind::misuse, "build: databases from a list and from a discovery");
        return std::make_unique<DiscoveredStores>(
            *plan.discovery,
            DiscoveryOptions{
                .refresh_interval = plan.refresh_interval, .budget = budget, .observer = observer},
            open);
    }
    std::vector<StorePtr> stores;
    for (Opened database : plan.databases) {
        database.options.budget = budget;
        stores.push_back(open(database.url, database.options));
    }
    return std::make_unique<FixedStores>(std::move(stores));
}

StorePtr only_one(const StoreProvider& provider) {
    const std::vector<StorePtr> stores = provider.stores();
    if (stores.size() != 1)
        throw Error(ErrorKind::misuse, "there is not one database but " +
                                           std::to_string(stores.size()) + "; use the router");
    return stores.front();
}

template <class T>
T& existing(const std::unique_ptr<T>& part, const char* what) {
    if (part == nullptr)
        throw Error(ErrorKind::misuse, std::string(what) + ": the service has no such queue");
    return *part;
}

}  // namespace

// In the order in which they stand on each other.
struct Service::Parts {
    std::unique_ptr<StoreProvider> outbox_stores{};
    std::unique_ptr<StoreProvider> inbox_stores{};
    std::unique_ptr<OutboxRouter> outboxes{};
    std::unique_ptr<InboxRouter> inboxes{};
    std::unique_ptr<Dispatcher> outbox_dispatcher{};
    std::unique_ptr<Dispatcher> inbox_dispatcher{};
    bool dispatch_outbox = false;
    bool dispatch_inbox = false;
};

Service::Service(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Service::~Service() { close(); }

OutboxRouter& Service::outboxes() const { return existing(parts_->outboxes, "outboxes"); }
InboxRouter& Service::inboxes() const { return existing(parts_->inboxes, "inboxes"); }
Dispatcher& Service::outbox_dispatcher() const {
    return existing(parts_->outbox_dispatcher, "outbox_dispatcher");
}
Dispatcher& Service::inbox_dispatcher() const {
    return existing(parts_->inbox_dispatcher, "inbox_dispatcher");
}

const Outbox& Service::outbox() const {
    return outboxes().get(only_one(*parts_->outbox_stores)->id());
}

const Inbox& Service::inbox() const { return inboxes().get(only_one(*parts_->inbox_stores)->id()); }

void Service::start() {
    if (parts_->dispatch_outbox) parts_->outbox_dispatcher->start();
    if (parts_->dispatch_inbox) parts_->inbox_dispatcher->start();
}

void Service::close() {
    if (parts_->inbox_dispatcher) parts_->inbox_dispatcher->close();
    if (parts_->outbox_dispatcher) parts_->outbox_dispatcher->close();
}

struct ServiceBuilder::Plan {
    QueuePlan outbox{};
    QueuePlan inbox{};
    DispatcherOptions dispatcher{};
    std::optional<std::size_t> connections_max{};
};

ServiceBuilder::ServiceBuilder() : plan_(std::make_unique<Plan>()) { polling({}); }
ServiceBuilder::~ServiceBuilder() = default;

ServiceBuilder& ServiceBuilder::outboxes(std::vector<SqlOutboxOptions> databases) {
    for (const SqlOutboxOptions& one : databases) {
        OpenOptions options = open_options(one);
        options.outbox_table = one.table_name;
        plan_->outbox.databases.push_back({.url = one.url, .options = std::move(options)});
    }
    return *this;
}

ServiceBuilder& ServiceBuilder::inboxes(std::vector<SqlInboxOptions> databases) {
    for (const SqlInboxOptions& one : databases) {
        OpenOptions options = open_options(one);
        options.inbox_table = one.table_name;
        plan_->inbox.databases.push_back({.url = one.url, .options = std::move(options)});
    }
    return *this;
}

ServiceBuilder& ServiceBuilder::discover_outboxes(DatabaseDiscovery& discovery,
                                                  Duration refresh_interval) {
    plan_->outbox.discovery = &discovery;
    plan_->outbox.refresh_interval = refresh_interval;
    return *this;
}

ServiceBuilder& ServiceBuilder::discover_inboxes(DatabaseDiscovery& discovery,
                                                 Duration refresh_interval) {
    plan_->inbox.discovery = &discovery;
    plan_->inbox.refresh_interval = refresh_interval;
    return *this;
}

Routes& ServiceBuilder::outbox_routes() {
    plan_->outbox.dispatched = true;
    return plan_->outbox.routes;
}

Routes& ServiceBuilder::inbox_routes() {
    plan_->inbox.dispatched = true;
    return plan_->inbox.routes;
}

ServiceBuilder& ServiceBuilder::polling(const PollingOptions& options) {
    plan_->dispatcher.poll_interval_max = options.polling_interval * idle_factor;
    plan_->dispatcher.batch = options.batch_size;
    plan_->dispatcher.lease = options.lease;
    return *this;
}

ServiceBuilder& ServiceBuilder::strategy(std::shared_ptr<const SelectionStrategy> strategy) {
    plan_->dispatcher.strategy = std::move(strategy);
    return *this;
}

ServiceBuilder& ServiceBuilder::connections_max(std::size_t count) {
    plan_->connections_max = count;
    return *this;
}

ServiceBuilder& ServiceBuilder::worker_count(std::uint32_t count) {
    plan_->dispatcher.worker_count = count;
    return *this;
}

ServiceBuilder& ServiceBuilder::observer(Observer& observer) {
    plan_->dispatcher.observer = &observer;
    return *this;
}

std::unique_ptr<Service> ServiceBuilder::build(OpenStore open) {
    const std::unique_ptr<Plan> plan = std::exchange(plan_, std::make_unique<Plan>());
    const auto budget = plan->connections_max
                            ? std::make_shared<ConnectionBudget>(*plan->connections_max)
                            : nullptr;
    Observer* const observer = plan->dispatcher.observer;
    auto parts = std::make_unique<Service::Parts>();
    DispatcherOptions options = plan->dispatcher;
    if (plan->outbox.wanted()) {
        parts->outbox_stores = make_provider(plan->outbox, budget, observer, open);
        parts->outboxes = std::make_unique<OutboxRouter>(
            *parts->outbox_stores, OutboxOptions{.queue = {.observer = observer}});
        options.queue = Queue::outbox;
        parts->outbox_dispatcher = std::make_unique<Dispatcher>(*parts->outbox_stores, options);
        parts->outbox_dispatcher->routes() = std::move(plan->outbox.routes);
        parts->dispatch_outbox = plan->outbox.dispatched;
    }
    if (plan->inbox.wanted()) {
        parts->inbox_stores = make_provider(plan->inbox, budget, observer, open);
        parts->inboxes = std::make_unique<InboxRouter>(
            *parts->inbox_stores, InboxOptions{.queue = {.observer = observer}});
        options.queue = Queue::inbox;
        parts->inbox_dispatcher = std::make_unique<Dispatcher>(*parts->inbox_stores, options);
        parts->inbox_dispatcher->routes() = std::move(plan->inbox.routes);
        parts->dispatch_inbox = plan->inbox.dispatched;
    }
    return std::make_unique<Service>(std::move(parts));
}

}  // namespace postroom
