#include "conformance/law.hpp"

#include <barrier>
#include <ostream>
#include <thread>
#include <typeinfo>
#include <utility>

#include "postroom/error.hpp"
#include "queue/message_fields.hpp"

namespace postroom::test {

namespace {

template <class SomeMessage>
SomeMessage message_of(const Draft& draft) {
    SomeMessage message;
    visit_shared_fields(draft, message, [](FieldIndex, const auto& from, auto& to) { to = from; });
    return message;
}

}  // namespace

std::string place_name(const testing::TestParamInfo<Place>& info) {
    const Place& place = info.param;
    if (!place.both_queues) return place.backend.name;
    return place.backend.name + (place.queue == Queue::outbox ? "_outbox" : "_inbox");
}

void PrintTo(const Place& place, std::ostream* out) { *out << place.backend.name; }

Sandbox& Law::open(OpenOptions options) {
    options.deploy_schema = true;
    sandbox_ = GetParam().backend.make(options);
    return *sandbox_;
}

Sandbox& Law::sandbox() { return sandbox_ ? *sandbox_ : open({}); }

std::unique_ptr<Sandbox> Law::elsewhere() const {
    return GetParam().backend.make({.deploy_schema = true});
}

Outbox& Law::outbox() {
    if (!outbox_) outbox_ = std::make_unique<Outbox>(store());
    return *outbox_;
}

Inbox& Law::inbox() {
    if (!inbox_) inbox_ = std::make_unique<Inbox>(store());
    return *inbox_;
}

WorkQueue& Law::work() {
    if (queue() == Queue::outbox) return outbox();
    return inbox();
}

std::unique_ptr<WorkQueue> Law::face(Store& store, const WorkQueueOptions& options) const {
    if (queue() == Queue::outbox)
        return std::make_unique<Outbox>(store, OutboxOptions{.queue = options});
    return std::make_unique<Inbox>(store, InboxOptions{.queue = options, .on_hash_mismatch = {}});
}

WorkItemId Law::put(const Draft& draft) { return put_many(1, draft).front(); }

std::vector<WorkItemId> Law::put_many(std::size_t count, const Draft& draft) {
    std::vector<WorkItemId> ids;
    if (queue() == Queue::outbox) {
        const std::vector<NewMessage> messages(count, message_of<NewMessage>(draft));
        for (const EnqueueResult& stored : outbox().enqueue_all(messages)) ids.push_back(stored.id);
        return ids;
    }
    std::vector<ReceivedMessage> messages(count, message_of<ReceivedMessage>(draft));
    for (ReceivedMessage& message : messages) {
        message.source = "shop";
        message.message_id = "m-" + std::to_string(++put_count_);
    }
    const std::vector<ReceiveResult> stored = inbox().enqueue_all(messages);
    for (std::size_t i = 0; i < count; ++i) {
        ids.push_back(stored[i].id);
        put_keys_.insert_or_assign(stored[i].id, messages[i].key());
    }
    return ids;
}

std::vector<Message> Law::claim(std::uint32_t batch, Duration lease) {
    return work().claim(me, lease, batch);
}

std::vector<Message> Law::claim(const OwnerToken& owner, std::uint32_t batch, Duration lease) {
    return work().claim(owner, lease, batch);
}

Message Law::claim_one(Duration lease) {
    std::vector<Message> claimed = work().claim(me, lease, 1);
    if (claimed.size() != 1) throw std::logic_error("nothing to claim");
    return std::move(claimed.front());
}

Message Law::get(const WorkItemId& id) {
    std::optional<Message> message = work().get(id);
    if (!message) throw std::logic_error("no such message");
    return std::move(*message);
}

std::optional<Message> Law::find(const WorkItemId& id) {
    const auto key = put_keys_.find(id);
    return key == put_keys_.end() ? work().get(id) : inbox().get(key->second);
}

std::vector<Lease> leases_of(const std::vector<Message>& messages) {
    std::vector<Lease> leases;
    for (const Message& message : messages) leases.push_back(message.lease.value());
    return leases;
}

std::vector<WorkItemId> ids_of(const std::vector<Message>& messages) {
    std::vector<WorkItemId> ids;
    for (const Message& message : messages) ids.push_back(message.id);
    return ids;
}

std::vector<std::string> payloads_of(const std::vector<Message>& messages) {
    std::vector<std::string> payloads;
    for (const Message& message : messages) payloads.push_back(message.payload);
    return payloads;
}

ErrorKind kind_thrown(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        return error.kind();
    } catch (const std::exception& error) {
        throw std::logic_error(std::string("no Error but ") + error.what());
    }
    throw std::logic_error("nothing was thrown");
}

std::string thrown(const std::function<void()>& act) {
    try {
        act();
    } catch (const std::out_of_range& error) {
        return std::string("out_of_range: ") + error.what();
    } catch (const std::invalid_argument& error) {
        return std::string("invalid_argument: ") + error.what();
    } catch (const Error& error) {
        return std::string("Error{") + std::string(to_string(error.kind())) + "}: " + error.what();
    } catch (const std::exception& error) {
        return std::string(typeid(error).name()) + ": " + error.what();
    }
    return "nothing";
}

void in_parallel(int count, const std::function<void(int)>& body) {
    std::barrier start(count);
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            try {
                body(i);
            } catch (const std::exception& error) {
                ADD_FAILURE() << "thread " << i << ": " << error.what();
            }
        });
}

void again_after_conflicts(const std::function<void()>& transaction) {
    while (true) {
        try {
            return transaction();
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::conflict) throw;
        }
    }
}

namespace {
Place place(const Backend& backend, Queue queue, bool both_queues) {
    return {.backend = backend, .queue = queue, .both_queues = both_queues};
}
}  // namespace

std::vector<Place> both_queues_of(const Backend& backend) {
    if (!backend.make) return {};
    return {place(backend, Queue::outbox, true), place(backend, Queue::inbox, true)};
}

std::vector<Place> outbox_of(const Backend& backend) {
    if (!backend.make) return {};
    return {place(backend, Queue::outbox, false)};
}

std::vector<Place> inbox_of(const Backend& backend) {
    if (!backend.make) return {};
    return {place(backend, Queue::inbox, false)};
}

}  // namespace postroom::test
