// HotIntake: takes over messages from writers of this process, in memory: room before the INSERT,
// the message after the commit.
//
// Thread safety: verify() by one thread at a time; the others may be shared.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "dispatch/dispatch_state.hpp"
#include "queue/hot_path.hpp"

namespace postroom {

class HotIntake {
public:
    HotIntake(const DispatchSetup& setup, SharedState& shared, const Notifier& notifier)
        : setup_(setup), shared_(shared), notifier_(notifier) {}

    std::optional<BornLease> reserve(std::span<const NewMessage> messages);
    void hand_over(const BornLease& born, std::vector<Message> messages, bool certain);
    void give_back(const BornLease& born);
    // Looks up those that a savepoint may have taken back. When to come again.
    Instant verify(Instant now);

private:
    bool may_be_born_leased(const DispatchState& state, const NewMessage& message,
                            Instant now) const;
    void release_now(std::span<const Settlement> settlements) const noexcept;
    std::map<WorkItemId, LeaseId> standing(std::span<const DispatchState::Unverified> batch) const;

    const DispatchSetup& setup_;
    SharedState& shared_;
    const Notifier& notifier_;
};

}  // namespace postroom
