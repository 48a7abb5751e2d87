// HotTicket: room in a dispatcher's hot queue, from the enqueue to the end of its transaction.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "postroom/store.hpp"

namespace postroom {

class HotTicket {
public:
    HotTicket(std::shared_ptr<HotPath> path, const BornLease& born)
        : path_(std::move(path)), born_(born) {}
    HotTicket(const HotTicket&) = delete;
    HotTicket& operator=(const HotTicket&) = delete;
    ~HotTicket() {
        if (!used_) path_->give_back(born_);
    }

    const BornLease& born() const { return born_; }

    void hand_over(std::vector<Message> messages, bool certain) {
        used_ = true;
        path_->hand_over(born_, std::move(messages), certain);
    }

private:
    const std::shared_ptr<HotPath> path_;
    const BornLease born_;
    bool used_ = false;
};

// The message as a claim would return it. Its times are the writer's: the database's are not known
// without asking.
inline Message as_stored(NewMessage message, const EnqueueResult& result, const BornLease& born,
                         Instant now) {
    Message out;
    out.id = result.id;
    out.queue = Queue::outbox;
    out.state = State::in_progress;
    out.message_id = result.message_id;
    out.topic = message.topic.str();
    out.payload = std::move(message.payload).value_or(std::string());
    out.content_type = std::move(message.content_type);
    out.headers = std::move(message.headers);
    out.correlation_id = std::move(message.correlation_id);
    out.tenant_id = std::move(message.tenant_id);
    out.aggregate_type = message.aggregate_type.str();
    out.aggregate_id = std::move(message.aggregate_id);
    out.created_at = now;
    out.available_at = now;
    out.occurred_at = message.occurred_at;
    out.priority = message.priority;
    out.max_attempts = message.max_attempts;
    out.lease = Lease{.id = result.id,
                      .lease_id = born.lease_id,
                      .owner = born.owner,
                      .locked_until = now + born.lease};
    return out;
}

}  // namespace postroom
