#include "sql/write_group.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace postroom::sql {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t followers_max = 256;  // of one transaction, as Waits::sharing

// Such an error says something about the unit and nothing about the transaction.
bool is_of_unit(const Error& error) {
    return error.kind() == ErrorKind::rejected || error.kind() == ErrorKind::misuse;
}

// A connection that cannot roll back is closed by its pool, which does the same.
void undo(Connection& connection) {
    try {
        connection.rollback();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the error that led here is the one to report
    }
}

}  // namespace

bool WriteGroup::run(const GroupUnit& unit) {
    const std::shared_ptr<Place> place = join(&unit);
    const Fate fate = place == nullptr ? Fate::leads : place->wait();
    if (fate == Fate::leads) return lead(unit);
    if (fate == Fate::failed) place->rethrow();
    return fate == Fate::committed;
}

WriteGroup::Turn::Turn(WriteGroup& group, bool urgent) : group_(group) {
    const std::shared_ptr<Place> place = group_.join(nullptr, urgent);
    if (place == nullptr) return;
    // Whoever is at work may wait for a connection, which an urgent one has for itself.
    if (urgent && !place->told_within(group_.waits_.urgent) && group_.leave(place)) {
        held_ = false;
        return;
    }
    if (place->wait() == Fate::failed) place->rethrow();
}

void WriteGroup::Turn::end() {
    if (std::exchange(held_, false)) group_.pass_on();
}

void WriteGroup::Turn::refuse(const Error& error) {
    if (held_) group_.refuse_waiting(error);
}

std::shared_ptr<WriteGroup::Place> WriteGroup::join(const GroupUnit* unit, bool urgent) {
    const base::MutexLock lock(mutex_);
    if (!std::exchange(led_, true)) return nullptr;
    const auto at = !urgent ? waiting_.end()
                            : std::find_if(waiting_.begin(), waiting_.end(),
                                           [](const auto& place) { return !place->urgent; });
    return *waiting_.insert(at, std::make_shared<Place>(unit, urgent));
}

bool WriteGroup::leave(const std::shared_ptr<Place>& place) {
    const base::MutexLock lock(mutex_);
    return waiting_.remove(place) > 0;
}

std::size_t WriteGroup::waiting() const {
    const base::MutexLock lock(mutex_);
    return waiting_.size();
}

// Moves the first of those who wait behind the followers, if it shares.
bool WriteGroup::take_next(Places& followers) {
    const base::MutexLock lock(mutex_);
    if (waiting_.empty() || waiting_.front()->unit == nullptr) return false;
    followers.splice(followers.end(), waiting_, waiting_.begin());
    return true;
}

// The followers are told first: those who come back at once are in line again when the next leader
// has begun, and its group is the larger for it.
bool WriteGroup::lead(const GroupUnit& own) {
    Places followers;
    bool committed = false;
    try {
        committed = write(own, followers);
    } catch (const Error& error) {
        fail_all(followers, error);
        pass_on();
        throw;
    } catch (...) {
        tell_all(followers, Fate::alone);
        pass_on();
        throw;
    }
    tell_all(followers, committed ? Fate::committed : Fate::alone);
    pass_on();
    return committed;
}

// Throws what is the fault of its own unit, or concerns everybody in the same way: a commit of
// which nobody knows whether it stands. After any other failure nothing is written, and false says
// that each has to find out by itself what becomes of its unit.
bool WriteGroup::write(const GroupUnit& own, Places& followers) {
    const PooledConnection connection = begin();
    try {
        // The transaction is its own so far, and rolled back as a whole.
        own.restart();
        connection->run_open(own.calls, own.on_row);
        write_followers(*connection, followers);
        connection->commit();
        return true;
    } catch (const Error& error) {
        undo(*connection);
        if (followers.empty() || error.kind() == ErrorKind::outcome_unknown) throw;
    } catch (...) {
        undo(*connection);
        if (followers.empty()) throw;
    }
    for (const std::shared_ptr<Place>& place : followers) place->failure.reset();
    return false;
}

PooledConnection WriteGroup::begin() {
    try {
        PooledConnection connection = pool_.acquire();
        connection->begin();
        return connection;
    } catch (const Error& error) {
        refuse_waiting(error);
        throw;
    }
}

void WriteGroup::write_followers(Connection& connection, Places& followers) {
    const auto end = SteadyClock::now() + waits_.sharing;
    while (followers.size() < followers_max && SteadyClock::now() < end && take_next(followers))
        run_follower(connection, *followers.back());
}

// Joined: what fails leaves nothing behind in the transaction that others share.
void WriteGroup::run_follower(Connection& connection, Place& place) {
    try {
        place.unit->restart();
        connection.run(Bracket::joined, place.unit->calls, place.unit->on_row);
    } catch (const Error& error) {
        // Some errors end the transaction, and a unit that could not be undone spoils it.
        const bool goes_on = connection.in_transaction() && connection.healthy();
        if (!is_of_unit(error) || !goes_on) throw;
        place.failure = GroupPlace::Failure::of(error);
    }
}

void WriteGroup::pass_on() {
    std::shared_ptr<Place> leader;
    {
        const base::MutexLock lock(mutex_);
        led_ = !waiting_.empty();
        if (!led_) return;
        leader = std::move(waiting_.front());
        waiting_.pop_front();
    }
    leader->tell(Fate::leads);
}

// Who has waited for long has waited for the same lock or the same connections: trying again for
// each of them would make the last wait many times as long as a statement may. Those who came late
// try.
void WriteGroup::refuse_waiting(const Error& error) noexcept {
    if (!error.retryable()) return;
    const auto late = SteadyClock::now() - waits_.begin / 2;
    Places refused;
    {
        const base::MutexLock lock(mutex_);
        for (auto next = waiting_.begin(); next != waiting_.end();) {
            const auto place = next++;
            if ((*place)->since <= late) refused.splice(refused.end(), waiting_, place);
        }
    }
    fail_all(refused, error);
}

void WriteGroup::fail_all(const Places& places, const Error& error) noexcept {
    const auto failure = GroupPlace::Failure::of(error);
    for (const std::shared_ptr<Place>& place : places)
        if (!place->failure) place->failure = failure;
    tell_all(places, Fate::failed);
}

// A unit that failed by itself keeps its own error.
void WriteGroup::tell_all(const Places& places, Fate fate) noexcept {
    for (const std::shared_ptr<Place>& place : places)
        place->tell(place->failure ? Fate::failed : fate);
}

}  // namespace postroom::sql
