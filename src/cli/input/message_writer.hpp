// MessageWriter: stores messages with the rights that this user has.
//
// The library writes to the tables, which takes more rights than a role has that may only write.
// Such a role calls a SQL routine, and so does this when the tables are refused.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "base/ulid.hpp"
#include "postroom/clock.hpp"
#include "postroom/outbox.hpp"

namespace postroom::cli {

struct Written {
    WorkItemId id{};
    std::optional<MessageId> message_id{};  // none: that of an earlier message, perhaps
    std::optional<bool> already_existed{};  // none: not known
};

class MessageWriter {
public:
    // `store` must outlive this.
    explicit MessageWriter(Store& store, const OutboxOptions& options = {})
        : store_(store), outbox_(store, options), ids_(clock_, random_) {}

    // In one transaction, results in the given order. Throws as Outbox::enqueue_all() does, also
    // when the routine refuses the messages too.
    std::vector<Written> enqueue_all(std::span<const NewMessage> messages);

private:
    std::vector<Written> write(std::span<const NewMessage> messages) const;
    // nullopt: there is none.
    std::optional<std::vector<Written>> call_routine(std::span<const NewMessage> messages);
    // nullopt: or it refuses.
    std::optional<std::vector<Written>> try_routine(std::span<const NewMessage> messages);

    Store& store_;
    const Outbox outbox_;
    const SystemClock clock_{};
    base::SystemRandom random_{};
    base::UlidGenerator ids_;
    bool by_routine_ = false;  // the tables were refused
};

}  // namespace postroom::cli
