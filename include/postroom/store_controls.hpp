// StoreControls: what an operator does to the queues of a store, beside what workers do with them
// (store.hpp).
//
// A topic that is paused here is paused for everybody: the list lies in the database, and each
// relay looks at it every second or two. A message that is discarded is gone for good; where the
// store keeps history, that shows it as done and was_discarded() tells it from a delivered one.
//
// Thread safety: all operations may be called concurrently.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "postroom/store.hpp"

namespace postroom {

struct PausedTopic {
    std::string topic{};
    Instant since{};
};

// What a look at the database itself found: its durability, the plan of a claim, who holds an old
// snapshot. The text is for people and holds neither payloads nor queries.
struct Finding {
    enum class Health : std::uint8_t { good, warning, bad };
    std::string check{};
    Health health = Health::good;
    std::string what{};
};

class StoreControls {
public:
    StoreControls() = default;
    StoreControls(const StoreControls&) = delete;
    StoreControls& operator=(const StoreControls&) = delete;
    virtual ~StoreControls() = default;

    // Topics of the outbox that are paused, in order of their names.
    virtual std::vector<PausedTopic> paused_topics() = 0;

    // Pausing what is paused, or resuming what is not, does nothing. Throws std::invalid_argument
    // for a name that no topic can have.
    virtual void pause_topic(const std::string& topic) = 0;
    virtual void resume_topic(const std::string& topic) = 0;

    // Removes those of these messages that are dead, or ready and held by nobody, and returns how
    // many went. It leases them first: if this process ends in between, that lease runs out like
    // that of any lost worker. What somebody has locked at this moment is left. An inbox remembers
    // them as done: they are not taken again when they are sent again.
    virtual std::uint64_t discard(Queue queue, std::span<const WorkItemId> ids) = 0;

    // Looks at what makes such a store slow or unsafe. Changes nothing; what this user may not see
    // is a warning.
    virtual std::vector<Finding> examine() = 0;
};

// nullptr for a store that has no such thing.
StoreControls* controls_of(Store& store);

// Whom the history names for messages that were discarded.
const OwnerToken& discard_owner();
bool was_discarded(const Message& message);

}  // namespace postroom
