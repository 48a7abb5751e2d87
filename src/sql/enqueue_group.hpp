// EnqueueGroup: messages that several threads enqueue at the same moment share a statement and a
// commit.
//
// For databases to which every round trip and every flush is dear, and which let several writers
// work at once. A thread that finds a leader's place free leads: it takes the messages of all who
// wait, writes them together with its own, and tells each what became of them. A thread that is
// alone does what it would have done without a group, and waits for nothing.
//
// Whoever is refused by the database is refused alone: a group that is refused is taken apart, and
// each of its threads writes its own messages. When nobody knows whether the commit stands, all of
// that group hear so.
//
// Thread safety: may be shared.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.hpp"
#include "queue/hot_path.hpp"
#include "sql/group_place.hpp"

namespace postroom::sql {

class EnqueueGroup {
public:
    // Stores the messages in one transaction; results in their order.
    using Write = std::function<std::vector<EnqueueResult>(
        std::span<const NewMessage* const> messages, const BornLease* born)>;

    explicit EnqueueGroup(Write write) : write_(std::move(write)) {}
    EnqueueGroup(const EnqueueGroup&) = delete;
    EnqueueGroup& operator=(const EnqueueGroup&) = delete;

    // Only a few small messages that wait for nobody's lock: not those with a key, for one.
    static bool takes(std::span<const NewMessage> messages);

    // Returns when they are committed. Throws as a transaction of their own would.
    std::vector<EnqueueResult> run(std::span<const NewMessage> messages, const BornLease* born);

    // How many threads wait at this moment, behind those who write.
    std::size_t waiting() const;

private:
    using Fate = GroupPlace::Fate;

    struct Request : GroupPlace {
        Request(std::span<const NewMessage> brought, const BornLease* lease)
            : messages(brought), born(lease) {}

        const std::span<const NewMessage> messages;  // for as long as its thread waits
        const BornLease* const born;
        std::vector<EnqueueResult> results{};  // of the leader, until it tells the fate
    };
    using Requests = std::list<std::shared_ptr<Request>>;

    Fate join(const std::shared_ptr<Request>& request);
    std::vector<EnqueueResult> lead(Request& own);
    void take_followers(const Request& own, Requests& followers);
    std::vector<EnqueueResult> write(const Request& own, const Requests& followers) const;
    std::vector<EnqueueResult> write_alone(const Request& request) const;
    void pass_on();

    const Write write_;

    mutable base::Mutex mutex_;
    std::size_t leaders_ POSTROOM_GUARDED_BY(mutex_) = 0;
    Requests waiting_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom::sql
