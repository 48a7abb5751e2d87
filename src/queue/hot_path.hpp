// HotPath, BornLease, Posted: how a committed enqueue comes to a dispatcher in the same process.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "postroom/store.hpp"

namespace postroom {

// What became of messages that were posted: to be read when their transaction has committed.
// Without an id: the database refused it, and a savepoint took that back.
using Posted = std::shared_ptr<const std::vector<EnqueueResult>>;

// A lease that a message carries from its birth: the writer delivers it itself, without a claim.
struct BornLease {
    OwnerToken owner{};
    LeaseId lease_id{};
    Duration lease{};
};

// HotPath: the way from a committed enqueue to a dispatcher in the same process, without a claim.
//
// A writer asks for room before it writes. What it is given room for is born leased to the
// dispatcher, and is either handed over after the commit or the room is given back; a message that
// is neither simply loses its lease and is claimed like any other.
//
// Thread safety: all operations may be called concurrently.
class HotPath {
public:
    HotPath() = default;
    HotPath(const HotPath&) = delete;
    HotPath& operator=(const HotPath&) = delete;
    virtual ~HotPath() = default;

    // Takes room for all of `messages`, or none: nullopt when there is no room, or when one of them
    // cannot be delivered at once.
    virtual std::optional<BornLease> reserve(std::span<const NewMessage> messages) = 0;

    // The transaction committed that wrote what `born` was given for. With `certain` false a
    // savepoint may have taken some back.
    virtual void hand_over(const BornLease& born, std::vector<Message> messages, bool certain) = 0;

    // It did not commit, or nobody knows.
    virtual void give_back(const BornLease& born) = 0;

    // Something else was committed that may be claimable.
    virtual void nudge() = 0;
};

}  // namespace postroom
