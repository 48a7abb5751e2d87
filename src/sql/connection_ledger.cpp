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

bool ConnectionBudget::Ledger::may_take(const Part& part) const {
    return part.on_loan < part.connections_max && (open_ < limit(part) || !idle_.empty());
}

std::unique_ptr<sql::Connection> ConnectionBudget::Ledger::take_idle_of(const Part& part) {
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                    [&](const Idle& idle) { return idle.part == &part; });
    if (found == idle_.rend()) return nullptr;
    std::unique_ptr<sql::Connection> connection = std::move(found->connection);
    idle_.erase(std::next(found).base());
    return connection;
}

std::unique_ptr<sql::Connection> ConnectionBudget::Ledger::make_room(std::size_t limit) {
    if (open_ < limit) {
        open_peak_ = std::max(open_peak_, ++open_);
        return nullptr;
    }
    std::unique_ptr<sql::Connection> oldest = std::move(idle_.front().connection);
    idle_.pop_front();
    return oldest;
}

std::optional<ConnectionBudget::Ledger::Loan> ConnectionBudget::Ledger::take(Part& part,
                                                                             Duration wait,
                                                                             std::stop_token stop) {
    base::MutexLock lock(mutex_);
    const auto free = [&]() POSTROOM_REQUIRES(mutex_) { return may_take(part); };
    if (!freed_.wait_for(lock, std::move(stop), wait, free)) return std::nullopt;
    ++part.on_loan;
    Loan loan{.connection = take_idle_of(part)};
    if (loan.connection == nullptr) loan.displaced = make_room(limit(part));
    return loan;
}

void ConnectionBudget::Ledger::give_back(Part& part,
                                         std::unique_ptr<sql::Connection> sound) noexcept {
    {
        const base::MutexLock lock(mutex_);
        --part.on_loan;
        if (sound == nullptr) {
            --open_;
        } else {
            idle_.push_back({.part = &part, .connection = std::move(sound)});
        }
    }
    // Those who wait are of different pools.
    freed_.notify_all();
}

void ConnectionBudget::Ledger::forget(const Part& part) {
    // Closing may take a while, so it is done outside; they count until then.
    std::list<Idle> closing;
    {
        const base::MutexLock lock(mutex_);
        for (auto at = idle_.begin(); at != idle_.end();) {
            const auto next = std::next(at);
            if (at->part == &part) closing.splice(closing.end(), idle_, at);
            at = next;
        }
    }
    const std::size_t count = closing.size();
    closing.clear();
    {
        const base::MutexLock lock(mutex_);
        open_ -= count;
    }
    freed_.notify_all();
}

bool ConnectionBudget::Ledger::reserve() {
    std::unique_ptr<sql::Connection> displaced;
    const base::MutexLock lock(mutex_);
    if (reserved_ >= max_ / reserved_share) return false;
    if (open_ >= ordinary_max_ && idle_.empty()) return false;
    ++reserved_;
    displaced = make_room(ordinary_max_);
    return true;
}

void ConnectionBudget::Ledger::unreserve() noexcept {
    {
        const base::MutexLock lock(mutex_);
        --reserved_;
        --open_;
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
