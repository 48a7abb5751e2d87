// HotTicket: room in a dispatcher's hot queue, from the enqueue to the end of its transaction.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "postroom/store.hpp"
#include "queue/hot_path.hpp"
#include "queue/message_fields.hpp"

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
    Message out = stored_form(std::move(message));
    out.id = result.id;
    out.state = State::in_progress;
    out.created_at = now;
    out.available_at = now;
    note_occurrence(out);
    out.lease = Lease{.id = result.id,
                      .lease_id = born.lease_id,
                      .owner = born.owner,
                      .locked_until = now + born.lease};
    return out;
}

}  // namespace postroom
