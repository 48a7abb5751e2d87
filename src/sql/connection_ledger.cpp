#include "sql/connection_ledger.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace postroom {

namespace {

constexpr std::size_t essential_share = 8;  // one in so many is kept for them
constexpr std::size_t reserved_share = 2;

}  // namespace

ConnectionBudget::Ledger::Ledger(std::size_t connections_max)
    : max_(connections_max),
      ordinary_max_(connections_max - std::max<std::size_t>(1, connections_max / essential_share)) {
}

// What is kept for the essential ones is theirs also while they leave it idle.
bool ConnectionBudget::Ledger::has_room(bool essential) const {
    if (!essential && ordinary_open_ >= ordinary_max_) return ordinary_idle_ > 0;
    return open_ < max_ || !idle_.empty();
}

bool ConnectionBudget::Ledger::may_take(const Part& part) const {
    return part.on_loan < part.connections_max && (part.idle > 0 || has_room(part.essential));
}

std::unique_ptr<sql::Connection> ConnectionBudget::Ledger::take_idle(Place place) {
    std::unique_ptr<sql::Connection> connection = std::move(place->connection);
    --place->part->idle;
    if (!place->part->essential) --ordinary_idle_;
    idle_.erase(place);
    return connection;
}

std::unique_ptr<sql::Connection> ConnectionBudget::Ledger::take_idle_of(Part& part) {
    if (part.idle == 0) return nullptr;
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                    [&](const Idle& idle) { return idle.part == &part; });
    return take_idle(std::next(found).base());
}

std::unique_ptr<sql::Connection> ConnectionBudget::Ledger::make_room(bool essential) {
    const bool full = !essential && ordinary_open_ >= ordinary_max_;
    std::unique_ptr<sql::Connection> oldest;
    if (full || open_ >= max_) {
        const auto place = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) {
            return !full || !idle.part->essential;
        });
        count_closed(place->part->essential, 1);
        oldest = take_idle(place);
    }
    open_peak_ = std::max(open_peak_, ++open_);
    if (!essential) ++ordinary_open_;
    return oldest;
}

void ConnectionBudget::Ledger::count_closed(bool essential, std::size_t count) {
    open_ -= count;
    if (!essential) ordinary_open_ -= count;
}

std::optional<ConnectionBudget::Ledger::Loan> ConnectionBudget::Ledger::take(Part& part,
                                                                             Duration wait,
                                                                             std::stop_token stop) {
    base::MutexLock lock(mutex_);
    const auto free = [&]() POSTROOM_REQUIRES(mutex_) { return may_take(part); };
    if (!freed_.wait_for(lock, std::move(stop), wait, free)) return std::nullopt;
    ++part.on_loan;
    Loan loan{.connection = take_idle_of(part)};
    if (loan.connection == nullptr) loan.displaced = make_room(part.essential);
    return loan;
}

void ConnectionBudget::Ledger::give_back(Part& part,
                                         std::unique_ptr<sql::Connection> sound) noexcept {
    {
        const base::MutexLock lock(mutex_);
        --part.on_loan;
        if (sound == nullptr) {
            count_closed(part.essential, 1);
        } else {
            idle_.push_back({.part = &part, .connection = std::move(sound)});
            ++part.idle;
            if (!part.essential) ++ordinary_idle_;
        }
    }
    // Those who wait are of different pools.
    freed_.notify_all();
}

void ConnectionBudget::Ledger::forget(Part& part) {
    // Closing may take a while, so it is done outside; they count until then.
    std::list<Idle> closing;
    {
        const base::MutexLock lock(mutex_);
        for (auto at = idle_.begin(); at != idle_.end();) {
            const auto next = std::next(at);
            if (at->part == &part) closing.splice(closing.end(), idle_, at);
            at = next;
        }
        part.idle = 0;
        if (!part.essential) ordinary_idle_ -= closing.size();
    }
    const std::size_t count = closing.size();
    closing.clear();
    {
        const base::MutexLock lock(mutex_);
        count_closed(part.essential, count);
    }
    freed_.notify_all();
}

bool ConnectionBudget::Ledger::reserve() {
    std::unique_ptr<sql::Connection> displaced;
    const base::MutexLock lock(mutex_);
    // One place is always left for the work itself.
    if (reserved_ >= std::min(max_ / reserved_share, ordinary_max_ - 1)) return false;
    if (!has_room(/*essential=*/false)) return false;
    ++reserved_;
    displaced = make_room(/*essential=*/false);
    return true;
}

void ConnectionBudget::Ledger::unreserve() noexcept {
    {
        const base::MutexLock lock(mutex_);
        --reserved_;
        count_closed(/*essential=*/false, 1);
    }
    freed_.notify_all();
}

std::size_t ConnectionBudget::Ledger::open() const {
    const base::MutexLock lock(mutex_);
    return open_;
}

std::size_t ConnectionBudget::Ledger::open_peak() const {
    const base::MutexLock lock(mutex_);
    return open_peak_;
}

ConnectionBudget::ConnectionBudget(std::size_t connections_max)
    : ledger_(std::make_shared<Ledger>(
          connections_max >= 2
              ? connections_max
              : throw std::invalid_argument("connections_max: at least 2 are needed"))) {}

ConnectionBudget::~ConnectionBudget() = default;

std::size_t ConnectionBudget::connections_max() const { return ledger_->connections_max(); }
std::size_t ConnectionBudget::open() const { return ledger_->open(); }
std::size_t ConnectionBudget::open_peak() const { return ledger_->open_peak(); }

namespace sql {

std::optional<ReservedConnection> ReservedConnection::of(
    const std::shared_ptr<ConnectionBudget>& budget) {
    if (budget == nullptr) return ReservedConnection(nullptr);
    if (!budget->ledger()->reserve()) return std::nullopt;
    return ReservedConnection(budget->ledger());
}

ReservedConnection::~ReservedConnection() {
    if (ledger_ != nullptr) ledger_->unreserve();
}

}  // namespace sql

}  // namespace postroom
