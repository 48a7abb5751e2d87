#include "daemon/due_left.hpp"

namespace postroom::daemon {

namespace {

constexpr std::uint32_t page_size = 1000;
constexpr std::size_t pages_max = 100;
constexpr std::size_t left_max = 100;

}  // namespace

std::vector<WorkItemId> due_left(Store& store, const admin::IsRouted& routed) {
    std::vector<WorkItemId> left;
    const Instant now = store.now();
    Query query{.state = State::ready, .limit = page_size, .payloads = false};
    for (std::size_t looked = 0; looked < pages_max; ++looked) {
        const std::vector<Message> ready = store.find(Queue::outbox, query);
        for (const Message& message : ready) {
            if (message.available_at > now) continue;
            if (admin::explain(store, message, routed).reason == admin::Reason::unclaimed)
                left.push_back(message.id);
            if (left.size() >= left_max) return left;
        }
        if (ready.size() < page_size) break;
        query.after_seq = ready.back().id.seq();
    }
    return left;
}

}  // namespace postroom::daemon
