#include "sql/enqueue_group.hpp"

#include <algorithm>
#include <chrono>
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

constexpr unsigned gather_skip_max = 64;  // groups

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

bool GatherPace::waits() {
    if (skip_ == 0) return true;
    --skip_;
    return false;
}

void GatherPace::waited(bool all_came) {
    in_vain_ = all_came ? 0 : in_vain_ + 1;
    skip_ = all_came ? 0 : std::min(gather_skip_max, 1U << std::min(in_vain_, 16U));
}

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
        if (leads_since_.size() < leaders_max()) {
            appoint(*request);
            return Fate::leads;
        }
        waiting_.push_back(request);
        if (goal_ > 0 && waiting_.size() >= goal_) gathered_.notify_one();
    }
    // Those who wait may be all there are: nobody else need come along to notice a stuck leader.
    while (!request->told_within(options_.stuck_after))
        if (takes_over(request)) return Fate::leads;
    return request->wait();
}

// Whether it leads from now on; not when a leader has taken it along, whose word it waits for then.
bool EnqueueGroup::takes_over(const std::shared_ptr<Request>& request) {
    const base::MutexLock lock(mutex_);
    const auto at = std::ranges::find(waiting_, request);
    if (at == waiting_.end() || leads_since_.size() >= leaders_max()) return false;
    waiting_.erase(at);
    appoint(*request);
    return true;
}

// One leader would have two threads that write by turns wait for each other's commit, where the
// database would have made one flush of both. Of more writers the groups are larger with one, but
// one whose connection is silent must not keep all of them waiting.
std::size_t EnqueueGroup::leaders_max() const {
    const bool stuck =
        !leads_since_.empty() &&
        std::chrono::steady_clock::now() - leads_since_.front() > options_.stuck_after;
    return writers_ <= 2 || stuck ? 2 : 1;
}

void EnqueueGroup::appoint(Request& leader) {
    leader.leads_since = std::chrono::steady_clock::now();
    leads_since_.push_back(leader.leads_since);
}

std::vector<EnqueueResult> EnqueueGroup::lead(Request& own) {
    Requests followers;
    const auto end = [&](Fate fate) {
        note_writers(followers.size() + 1);
        for (const std::shared_ptr<Request>& follower : followers) follower->tell(fate);
        pass_on(own);
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
    base::MutexLock lock(mutex_);
    gather(lock);
    while (!waiting_.empty()) {
        const Request& next = *waiting_.front();
        rows += next.messages.size();
        bytes += bytes_of(next.messages);
        if (rows > rows_max || bytes > bytes_max || !same_lease(own.born, next.born)) return;
        followers.splice(followers.end(), waiting_, waiting_.begin());
    }
}

// For those who wrote a moment ago and are not here yet.
void EnqueueGroup::gather(base::MutexLock& lock) {
    if (writers_ <= 2 || leads_since_.size() > 1) return;
    const std::size_t writers = std::min(writers_, rows_max);
    if (waiting_.size() + 1 >= writers || !pace_.waits()) return;
    goal_ = writers - 1;
    pace_.waited(gathered_.wait_for(
        lock, {}, options_.gather_max,
        [this]() POSTROOM_REQUIRES(mutex_) { return waiting_.size() >= goal_; }));
    goal_ = 0;
}

void EnqueueGroup::note_writers(std::size_t in_group) {
    const base::MutexLock lock(mutex_);
    writers_ = in_group + waiting_.size() + leads_since_.size() - 1;
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

// The first of those who came meanwhile leads next, unless another leader is enough.
void EnqueueGroup::pass_on(const Request& own) {
    std::shared_ptr<Request> leader;
    {
        const base::MutexLock lock(mutex_);
        leads_since_.erase(std::ranges::find(leads_since_, own.leads_since));
        if (waiting_.empty() || leads_since_.size() >= leaders_max()) return;
        leader = std::move(waiting_.front());
        waiting_.pop_front();
        appoint(*leader);
    }
    leader->tell(Fate::leads);
}

}  // namespace postroom::sql
