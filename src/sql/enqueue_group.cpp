#include "sql/enqueue_group.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "queue/message_fields.hpp"
#include "sql/enqueue_batch.hpp"
#include "sql/message_params.hpp"

namespace postroom::sql {

namespace {

// The first of a group waits for the last of it.
constexpr std::size_t rows_max = 256;
constexpr std::size_t bytes_max = std::size_t{1024} * 1024;
// Of one thread. Larger ones gain nothing by company, and make it wait.
constexpr std::size_t own_rows_max = 16;
constexpr std::size_t own_bytes_max = std::size_t{64} * 1024;

// One leader would have two threads that write by turns wait for each other's commit, where the
// database would have made one flush of both. More than two make the groups smaller.
constexpr std::size_t leaders_max = 2;

std::size_t bytes_of(std::span<const NewMessage> messages) {
    return std::accumulate(
        messages.begin(), messages.end(), std::size_t{0},
        [](std::size_t sum, const NewMessage& message) { return sum + content_bytes(message); });
}

bool same_lease(const BornLease* a, const BornLease* b) {
    if (a == nullptr || b == nullptr) return a == b;
    return a->lease_id == b->lease_id && a->owner == b->owner && a->lease == b->lease;
}

// It says something about one of the messages and nothing about the database.
bool is_of_message(const Error& error) {
    return error.kind() == ErrorKind::rejected || error.kind() == ErrorKind::misuse;
}

}  // namespace

bool EnqueueGroup::takes(std::span<const NewMessage> messages) {
    return messages.size() <= own_rows_max && bytes_of(messages) <= own_bytes_max &&
           std::none_of(messages.begin(), messages.end(), &needs_enqueue);
}

std::size_t EnqueueGroup::waiting() const {
    const base::MutexLock lock(mutex_);
    return waiting_.size();
}

std::vector<EnqueueResult> EnqueueGroup::run(std::span<const NewMessage> messages,
                                             const BornLease* born) {
    const auto request = std::make_shared<Request>(messages, born);
    switch (join(request)) {
        case Fate::leads:
            return lead(*request);
        case Fate::failed:
            request->rethrow();
        case Fate::committed:
            return std::move(request->results);
        default:
            return write_alone(*request);
    }
}

EnqueueGroup::Fate EnqueueGroup::join(const std::shared_ptr<Request>& request) {
    {
        const base::MutexLock lock(mutex_);
        if (leaders_ < leaders_max) {
            ++leaders_;
            return Fate::leads;
        }
        waiting_.push_back(request);
    }
    return request->wait();
}

std::vector<EnqueueResult> EnqueueGroup::lead(Request& own) {
    Requests followers;
    const auto end = [&](Fate fate) {
        for (const std::shared_ptr<Request>& follower : followers) follower->tell(fate);
        pass_on();
    };
    const auto fail = [&](const GroupPlace::Failure& failure) {
        for (const std::shared_ptr<Request>& follower : followers) follower->failure = failure;
        end(Fate::failed);
    };
    take_followers(own, followers);
    std::vector<EnqueueResult> results;
    try {
        results = write(own, followers);
    } catch (const Error& error) {
        if (!is_of_message(error)) {
            fail(GroupPlace::Failure::of(error));
            throw;
        }
        end(Fate::alone);
        if (followers.empty()) throw;
        return write_alone(own);
    } catch (...) {
        fail({.kind = ErrorKind::outcome_unknown});
        throw;
    }
    end(Fate::committed);
    return results;
}

// In the order in which they came, as far as they fit together.
void EnqueueGroup::take_followers(const Request& own, Requests& followers) {
    std::size_t rows = own.messages.size();
    std::size_t bytes = bytes_of(own.messages);
    const base::MutexLock lock(mutex_);
    while (!waiting_.empty()) {
        const Request& next = *waiting_.front();
        rows += next.messages.size();
        bytes += bytes_of(next.messages);
        if (rows > rows_max || bytes > bytes_max || !same_lease(own.born, next.born)) return;
        followers.splice(followers.end(), waiting_, waiting_.begin());
    }
}

std::vector<EnqueueResult> EnqueueGroup::write(const Request& own,
                                               const Requests& followers) const {
    std::vector<const NewMessage*> messages = pointers_to(own.messages);
    for (const std::shared_ptr<Request>& follower : followers) {
        for (const NewMessage& message : follower->messages) messages.push_back(&message);
        follower->results.resize(follower->messages.size());
    }
    std::vector<EnqueueResult> results = write_(messages, own.born);
    // Committed: from here on nothing may fail, or what is stored would be taken for lost.
    auto next = results.begin() + static_cast<std::ptrdiff_t>(own.messages.size());
    for (const std::shared_ptr<Request>& follower : followers) {
        const auto end = next + static_cast<std::ptrdiff_t>(follower->messages.size());
        std::move(next, end, follower->results.begin());
        next = end;
    }
    results.erase(results.begin() + static_cast<std::ptrdiff_t>(own.messages.size()),
                  results.end());
    return results;
}

std::vector<EnqueueResult> EnqueueGroup::write_alone(const Request& request) const {
    return write_(pointers_to(request.messages), request.born);
}

// The first of those who came meanwhile leads next.
void EnqueueGroup::pass_on() {
    std::shared_ptr<Request> leader;
    {
        const base::MutexLock lock(mutex_);
        if (waiting_.empty()) {
            --leaders_;
            return;
        }
        leader = std::move(waiting_.front());
        waiting_.pop_front();
    }
    leader->tell(Fate::leads);
}

}  // namespace postroom::sql
