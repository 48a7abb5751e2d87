// EnqueueGroup: messages that several threads enqueue at the same moment share a statement and a
// commit.
//
// For databases to which every round trip and every flush is dear, and which let several writers
// work at once. A thread that finds a leader's place free leads: it takes the messages of all who
// wait, writes them together with its own, and tells each what became of them. A thread that is
// alone does what it would have done without a group, and waits for nobody; only once, shortly,
// after others have stopped writing.
//
// Threads that write one message after the other are back a moment after their commit. A leader
// that went ahead at once would leave them behind, and groups would be half as large as they could
// be; so it waits for them, shortly, as long as such waits bring them in.
//
// Whoever is refused by the database is refused alone: a group that is refused is taken apart, and
// each of its threads writes its own messages. When nobody knows whether the commit stands, all of
// that group hear so.
//
// Thread safety: may be shared.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/clock.hpp"
#include "queue/hot_path.hpp"
#include "sql/group_place.hpp"

namespace postroom::sql {

// GatherPace: whether to wait for writers to come back. Pure.
//
// Where they have other things to do first, a wait brings nobody; each one in vain doubles the
// number of groups that go without.
class GatherPace {
public:
    bool waits();
    void waited(bool all_came);

private:
    unsigned in_vain_ = 0;  // in a row
    unsigned skip_ = 0;
};

struct EnqueueGroupOptions {
    // How long a leader waits for those who have just been told. Less than a flush takes on most
    // disks.
    Duration gather_max = std::chrono::microseconds{150};
    // A leader that takes longer is no longer waited for: another one leads beside it.
    Duration stuck_after = std::chrono::milliseconds{500};
};

class EnqueueGroup {
public:
    // Stores the messages in one transaction; results in their order.
    using Write = std::function<std::vector<EnqueueResult>(
        std::span<const NewMessage* const> messages, const BornLease* born)>;

    explicit EnqueueGroup(Write write, const EnqueueGroupOptions& options = {})
        : write_(std::move(write)), options_(options) {
        leads_since_.reserve(2);  // whoever is appointed must not fail
    }
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
    using SteadyTime = std::chrono::steady_clock::time_point;

    struct Request : GroupPlace {
        Request(std::span<const NewMessage> brought, const BornLease* lease)
            : messages(brought), born(lease) {}

        const std::span<const NewMessage> messages;  // for as long as its thread waits
        const BornLease* const born;
        std::vector<EnqueueResult> results{};  // of the leader, until it tells the fate
        SteadyTime leads_since{};              // of one that leads
    };
    using Requests = std::list<std::shared_ptr<Request>>;

    Fate join(const std::shared_ptr<Request>& request);
    bool takes_over(const std::shared_ptr<Request>& request);
    std::vector<EnqueueResult> lead(Request& own);
    void take_followers(const Request& own, Requests& followers);
    void gather(base::MutexLock& lock) POSTROOM_REQUIRES(mutex_);
    void note_writers(std::size_t in_group);
    std::size_t leaders_max() const POSTROOM_REQUIRES(mutex_);
    std::vector<EnqueueResult> write(const Request& own, const Requests& followers) const;
    std::vector<EnqueueResult> write_alone(const Request& request) const;
    void appoint(Request& leader) POSTROOM_REQUIRES(mutex_);
    void pass_on(const Request& own);

    const Write write_;
    const EnqueueGroupOptions options_;

    mutable base::Mutex mutex_;
    std::vector<SteadyTime> leads_since_ POSTROOM_GUARDED_BY(mutex_);  // of each leader, in order
    Requests waiting_ POSTROOM_GUARDED_BY(mutex_);
    base::CondVar gathered_;
    std::size_t writers_ POSTROOM_GUARDED_BY(mutex_) = 0;  // at the end of the last group
    std::size_t goal_ POSTROOM_GUARDED_BY(mutex_) = 0;     // of a leader that waits; 0: none does
    GatherPace pace_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom::sql
