#include "postroom/store.hpp"

#include <array>
#include <limits>

#include "base/mutex.hpp"
#include "queue/hot_path.hpp"

namespace postroom {

void Doorbell::listen(std::stop_token /*stop*/) {}
bool Doorbell::look() { return wait(Duration::zero(), {}); }
int Doorbell::descriptor() const { return -1; }
Doorbell::Forecast Doorbell::forecast() const { return {}; }

// Who hears of new messages, by queue.
struct Store::Listeners {
    mutable base::Mutex mutex;
    std::array<std::shared_ptr<HotPath>, 2> hot_paths POSTROOM_GUARDED_BY(mutex);
    std::array<std::shared_ptr<Doorbell>, 2> doorbells POSTROOM_GUARDED_BY(mutex);
};

namespace {

std::size_t place(Queue queue) { return queue == Queue::outbox ? 0 : 1; }

}  // namespace

Store::Store(std::string id, const Limits& limits)
    : id_(std::move(id)), limits_(limits), listeners_(std::make_unique<Listeners>()) {}

Store::~Store() = default;

Posted Store::post(TxContext& tx, std::span<const NewMessage> messages, const BornLease* born) {
    return std::make_shared<const std::vector<EnqueueResult>>(enqueue(&tx, messages, born));
}

std::optional<EnqueueResult> Store::find_key(TxContext* /*tx*/, const std::string& /*tenant_id*/,
                                             const std::string& /*idempotency_key*/) {
    return std::nullopt;
}

std::vector<WorkItemId> Store::find_keyed(Queue /*queue*/, const std::string& /*message_id*/) {
    return {};
}

FoundPage Store::find_within(Queue queue, const Query& query, Duration /*patience*/) {
    FoundPage page{.messages = find(queue, query)};
    // Messages without a number cannot be paged behind.
    if (page.messages.size() == query.limit && query.limit > 0 && page.messages.back().id.seq() > 0)
        page.next_seq = page.messages.back().id.seq();
    return page;
}

std::uint64_t Store::count(Queue queue, const Query& query) {
    Query all = query;
    all.payloads = false;
    all.limit = std::numeric_limits<std::uint32_t>::max();
    return find(queue, all).size();
}

void Store::attach(Queue queue, std::shared_ptr<HotPath> path) {
    const base::MutexLock lock(listeners_->mutex);
    listeners_->hot_paths.at(place(queue)) = std::move(path);
}

void Store::detach(Queue queue, const HotPath& path) {
    const base::MutexLock lock(listeners_->mutex);
    std::shared_ptr<HotPath>& current = listeners_->hot_paths.at(place(queue));
    if (current.get() == &path) current.reset();
}

std::shared_ptr<HotPath> Store::hot_path(Queue queue) const {
    const base::MutexLock lock(listeners_->mutex);
    return listeners_->hot_paths.at(place(queue));
}

void Store::announce(Queue queue) noexcept {
    try {
        if (const std::shared_ptr<HotPath> path = hot_path(queue)) path->nudge();
        std::shared_ptr<Doorbell> bell;
        {
            const base::MutexLock lock(listeners_->mutex);
            std::shared_ptr<Doorbell>& kept = listeners_->doorbells.at(place(queue));
            if (kept == nullptr) kept = doorbell(queue);
            bell = kept;
        }
        bell->ring();
    } catch (...) {  // a hint that cannot be given is none; the poller finds the message
    }
}

}  // namespace postroom
