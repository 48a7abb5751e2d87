#include "backends/postgres/doorbell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "base/sleep.hpp"
#include "postroom/error.hpp"
#include "sql/connection_ledger.hpp"

namespace postroom::postgres {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t channel_digest_bytes = 16;

// A place in the budget, kept from when there first is one.
class Place {
public:
    explicit Place(std::shared_ptr<ConnectionBudget> budget) : budget_(std::move(budget)) {}

    bool taken() {
        const base::MutexLock lock(mutex_);
        if (!place_)
            if (std::optional<sql::ReservedConnection> place = sql::ReservedConnection::of(budget_))
                place_.emplace(std::move(*place));
        return place_.has_value();
    }

private:
    const std::shared_ptr<ConnectionBudget> budget_;
    base::Mutex mutex_;
    std::optional<sql::ReservedConnection> place_ POSTROOM_GUARDED_BY(mutex_);
};

class NotifyDoorbell final : public Doorbell {
public:
    NotifyDoorbell(const Conninfo& conninfo, const std::string& channel,
                   const std::shared_ptr<ConnectionBudget>& budget)
        : ringing_(budget),
          listening_(budget),
          ringer_(conninfo, channel),
          listener_(conninfo, channel) {}

    void ring() noexcept override {
        if (ringing_.taken()) ringer_.ring();
    }
    bool wait(Duration timeout, std::stop_token stop) override {
        require_place();
        return listener_.wait(timeout, std::move(stop));
    }
    void listen(std::stop_token stop) override {
        require_place();
        listener_.listen(std::move(stop));
    }
    bool look() override { return listener_.look(); }
    int descriptor() const override { return listener_.descriptor(); }

private:
    void require_place() {
        if (!listening_.taken())
            throw Error(ErrorKind::unavailable, "doorbell: no connection left in the budget");
    }

    Place ringing_;
    Place listening_;
    Ringer ringer_;
    Listener listener_;
};

class PooledDoorbell final : public Doorbell {
public:
    PooledDoorbell(const Conninfo& conninfo, const std::string& channel,
                   const std::shared_ptr<ConnectionBudget>& budget)
        : ringing_(budget), ringer_(conninfo, channel) {}

    void ring() noexcept override {
        if (ringing_.taken()) ringer_.ring();
    }
    bool wait(Duration timeout, std::stop_token stop) override {
        sleep_until(base::deadline_after(timeout), StopSignal(std::move(stop)));
        return false;
    }
    bool look() override { return false; }

private:
    Place ringing_;
    Ringer ringer_;
};

}  // namespace

std::string channel_of(const std::string& name) {
    const base::Sha256Digest digest = base::sha256(name);
    return "postroom_" + base::hex_encode(std::span(digest).first(channel_digest_bytes));
}

Ringer::Ringer(Conninfo conninfo, const std::string& channel, const DoorbellLimits& limits)
    : limits_(limits),
      conninfo_(std::move(conninfo)),
      // The server writes a commit record for a notification and would wait for its flush first.
      // Two commands in one message are one transaction, and commands need no plan.
      statement_(fmt::format("SET LOCAL synchronous_commit = off; NOTIFY {}", channel)) {}

void Ringer::ring() noexcept {
    // Another thread rings, perhaps while it connects: nobody waits for it.
    if (!mutex_.try_lock()) return;
    try {
        ring_at(steady_clock::now());
    } catch (...) {
        link_.reset();
    }
    mutex_.unlock();
}

void Ringer::ring_at(Time now) {
    if (last_sent_ && now - *last_sent_ < limits_.ring_interval) return;
    leave_dead_link(now);
    if (!connect(now) || !link_->answered()) return;
    link_->ask(statement_);
    last_sent_ = now;
}

// A connection that broke while nobody rang costs no ring: a new one is made at once.
void Ringer::leave_dead_link(Time now) {
    if (!link_) return;
    try {
        if (!link_->connected()) {
            if (now - link_->started() > limits_.answer_limit) link_.reset();
        } else if (!link_->answered()) {
            if (last_sent_ && now - *last_sent_ > limits_.answer_limit) link_.reset();
        }
    } catch (const Error&) {
        link_.reset();
    }
}

bool Ringer::connect(Time now) {
    if (!link_) {
        if (last_attempt_ && now - *last_attempt_ < limits_.connect_interval) return false;
        last_attempt_ = now;
        link_.emplace(conninfo_);
    }
    const Time patience_ends = link_->started() + limits_.ring_patience;
    while (!link_->connected()) {
        if (steady_clock::now() >= patience_ends) return false;
        link_->wait(patience_ends, nullptr);
    }
    return true;
}

// The server must not end the session for being idle: that is what a listener is.
Listener::Listener(Conninfo conninfo, const std::string& channel, const DoorbellLimits& limits)
    : limits_(limits),
      conninfo_(std::move(conninfo)),
      statement_(fmt::format("SET idle_session_timeout = 0; LISTEN {}", channel)) {}

bool Listener::wait(Duration timeout, std::stop_token stop) {
    try {
        return wait_until(base::deadline_after(timeout), StopSignal(std::move(stop)));
    } catch (...) {
        link_.reset();
        throw;
    }
}

void Listener::listen(std::stop_token stop) {
    if (listening() || wait(limits_.answer_limit, std::move(stop))) return;
    throw Error(ErrorKind::unavailable, "doorbell: not listening yet");
}

bool Listener::look() {
    if (!listening()) throw Error(ErrorKind::unavailable, "doorbell: nobody listens");
    try {
        return link_->notified();
    } catch (...) {
        link_.reset();
        throw;
    }
}

int Listener::descriptor() const { return listening() ? link_->descriptor() : -1; }

bool Listener::wait_until(Time deadline, const StopSignal& stop) {
    if (!link_ && !start_link(deadline, stop)) return false;
    while (!step()) {
        const Time now = steady_clock::now();
        if (stop.requested() || now >= deadline) return false;
        const Time given_up = link_->started() + limits_.answer_limit;
        if (stage_ == Stage::listening) {
            link_->wait(deadline, &stop);
        } else if (now >= given_up) {
            throw Error(ErrorKind::unavailable, "doorbell: the server does not answer");
        } else {
            link_->wait(std::min(deadline, given_up), &stop);
        }
    }
    return true;
}

bool Listener::start_link(Time deadline, const StopSignal& stop) {
    if (last_attempt_) {
        const Time next_attempt = *last_attempt_ + limits_.connect_interval;
        sleep_until(std::min(deadline, next_attempt), stop);
        if (steady_clock::now() < next_attempt) return false;
    }
    if (stop.requested()) return false;
    last_attempt_ = steady_clock::now();
    stage_ = Stage::connecting;
    link_.emplace(conninfo_);
    return true;
}

bool Listener::step() {
    if (stage_ == Stage::connecting && link_->connected()) {
        link_->ask(statement_);
        stage_ = Stage::asking;
    }
    if (stage_ == Stage::asking && link_->answered()) {
        stage_ = Stage::listening;
        link_->notified();
        return true;
    }
    return stage_ == Stage::listening && link_->notified();
}

std::unique_ptr<Doorbell> make_doorbell(const Conninfo& conninfo, const std::string& name,
                                        bool pooled, std::shared_ptr<ConnectionBudget> budget) {
    const std::string channel = channel_of(name);
    if (pooled) return std::make_unique<PooledDoorbell>(conninfo, channel, budget);
    return std::make_unique<NotifyDoorbell>(conninfo, channel, budget);
}

}  // namespace postroom::postgres
