#include "sim/ledger.hpp"

#include <utility>

namespace postroom::sim {

bool is_final(const Message& row) { return row.state == State::done || row.state == State::dead; }

int Ledger::add(Written written) {
    written_.push_back(std::move(written));
    return size() - 1;
}

void Ledger::set_fate(int number, Fate fate) {
    of(number).fate = fate;
    const bool there = rows_.contains(number);
    if (fate == Fate::committed && !there)
        report_.violate(fmt::format("I1 message {} is committed and not there", number));
    if (fate == Fate::absent && there)
        report_.violate(fmt::format("I2 message {} is there and was not committed", number));
}

Rows Ledger::refresh() {
    Rows before = std::exchange(rows_, {});
    for (Message& row : database_.find(Queue::outbox, {.limit = 100'000})) {
        const int number = number_of(row.payload);
        const auto old = before.find(number);
        judge_row(number, old == before.end() ? nullptr : &old->second, row);
        if (!rows_.emplace(number, std::move(row)).second)
            report_.violate(fmt::format("I6 message {} is there twice", number));
    }
    for (const auto& [number, row] : before)
        if (!rows_.contains(number)) report_.violate(fmt::format("I1 message {} is gone", number));
    return before;
}

void Ledger::judge_row(int number, const Message* before, const Message& now) {
    Written& written = of(number);
    if (before == nullptr && (written.fate == Fate::open || written.fate == Fate::absent))
        report_.violate(fmt::format("I2 message {} is visible without a commit", number));
    if (before != nullptr && is_final(*before) && before->state != now.state)
        report_.violate(fmt::format("I4 message {} was final and has changed", number));
    const std::uint32_t limit = profile_.options.retry.max_attempts;
    if (now.retry_count > (written.topic == "free" ? 2U : limit))
        report_.violate(fmt::format("I8 message {} has too many attempts", number));
    if (!now.lease) return;
    const bool had_it =
        before != nullptr && before->lease && before->lease->lease_id == now.lease->lease_id;
    if (!written.leases.insert(now.lease->lease_id).second && !had_it)
        report_.violate(fmt::format("I3 message {} has an old lease again", number));
}

void Ledger::started(int life, const OwnerToken& owner, const Message& message,
                     bool clock_is_true) {
    const int number = number_of(message.payload);
    report_.count(static_cast<std::uint64_t>(number));
    const auto at = rows_.find(number);
    if (at == rows_.end())
        return report_.violate(fmt::format("I2 message {} started, never committed", number));
    const Message& row = at->second;
    const Lease& lease = message.lease.value();
    if (row.id != message.id || row.topic != message.topic)
        report_.violate(fmt::format("I2 message {} started as something else", number));
    if (lease.owner != owner)
        report_.violate(fmt::format("I3 message {} started with a foreign lease", number));
    const bool stands = row.lease && row.lease->lease_id == lease.lease_id &&
                        row.lease->locked_until > database_.now();
    if (clock_is_true && !stands)
        report_.violate(fmt::format("I3 message {} started without a standing lease", number));
    if (message.lost_count > profile_.options.crash_limit)
        report_.violate(fmt::format("I8 message {} started beyond the crash limit", number));
    Written& written = of(number);
    for (const auto& [id, call] : written.calls)
        if (call.running && call.life == life)
            report_.violate(fmt::format("I3 message {} started twice in one process", number));
    if (!written.calls.emplace(lease.lease_id, HandlerCall{.life = life}).second)
        report_.violate(fmt::format("I5 message {} started twice with one lease", number));
    if (written.key.empty() || !stands) return;
    for (const auto& [other, row_of_key] : rows_) {
        if (other == number || of(other).key != written.key || !row_of_key.lease) continue;
        if (row_of_key.lease->locked_until > database_.now())
            report_.violate(
                fmt::format("I7 messages {} and {} of one key are both under way", number, other));
    }
}

void Ledger::said(const Message& message, Saying saying) {
    HandlerCall& call = of(number_of(message.payload)).calls.at(message.lease->lease_id);
    call.saying = saying;
    call.running = false;
}

void Ledger::returned(const Message& message) {
    HandlerCall& call = of(number_of(message.payload)).calls.at(message.lease->lease_id);
    if (call.saying == Saying::nothing) call.saying = Saying::store_failed;
    call.running = false;
}

void Ledger::process_ended(int life) {
    for (Written& written : written_)
        for (auto& [lease, call] : written.calls)
            if (call.life == life) call.running = false;
}

bool Ledger::may_fail(const Written& written, const HandlerCall* call, const Message& before,
                      const Settlement& settlement) const {
    if (call != nullptr) return call->saying == Saying::fail;
    switch (settlement.reason) {
        case DeadReason::crash_limit:
            return before.lost_count > profile_.options.crash_limit;
        case DeadReason::expired:
            return written.expires_at &&
                   (profile_.faults || *written.expires_at <= database_.now());
        default:
            return unroutable(written) && profile_.options.unroutable == Unroutable::dead;
    }
}

void Ledger::settled(const Message& before, const Settlement& settlement) {
    const int number = number_of(before.payload);
    const Written& written = of(number);
    const auto at = written.calls.find(settlement.lease.lease_id);
    const HandlerCall* const call = at == written.calls.end() ? nullptr : &at->second;
    bool allowed = false;
    switch (settlement.outcome) {
        case Outcome::ack:
            allowed = call != nullptr && call->saying == Saying::done;
            break;
        case Outcome::abandon:
            allowed = call != nullptr ? call->saying == Saying::retry : unroutable(written);
            break;
        case Outcome::fail:
            allowed = may_fail(written, call, before, settlement);
            break;
        case Outcome::release:
            // A handler in a transaction may be through and its commit not.
            allowed = call == nullptr || call->saying == Saying::down ||
                      call->saying == Saying::store_failed ||
                      (written.topic == "tx" && call->saying == Saying::done);
            break;
    }
    if (!allowed)
        report_.violate(
            fmt::format("I1/I8 message {} is settled ({}) against what its handler said", number,
                        static_cast<int>(settlement.outcome)));
}

bool Ledger::waits_for_ever(const Message& row) const {
    const bool far = row.topic == "far" || row.topic == "batch";
    return far && profile_.one_down_for_ever && !is_final(row);
}

// Behind a message of its ordering key that is dead, or that waits for a destination which is down.
// What stands behind one that is blocked stands behind the same obstacle.
bool Ledger::blocked(int number, const Message& row) const {
    const Written& written = written_[static_cast<std::size_t>(number)];
    if (written.key.empty()) return false;
    for (const auto& [other, head] : rows_) {
        const Written& of_head = written_[static_cast<std::size_t>(other)];
        if (of_head.key != written.key || head.id.seq() >= row.id.seq()) continue;
        if (head.state == State::dead && of_head.topic != "free") return true;
        if (waits_for_ever(head)) return true;
    }
    return false;
}

bool Ledger::unfinished(const Message& row) const {
    return !is_final(row) && !waits_for_ever(row) && !blocked(number_of(row.payload), row);
}

std::size_t Ledger::backlog() const {
    std::size_t count = 0;
    for (const auto& [number, row] : rows_) count += unfinished(row) ? 1 : 0;
    return count;
}

std::string Ledger::describe_backlog() const {
    std::string text;
    for (const auto& [number, row] : rows_)
        if (unfinished(row)) text += fmt::format(" {}({})", number, row.topic);
    return text;
}

void Ledger::judge_effects() {
    std::map<int, int> effects;
    for (const auto& [number, row] : rows_)
        if (of(number).parent) ++effects[*of(number).parent];
    for (const auto& [number, row] : rows_) {
        if (of(number).topic != "tx") continue;
        if (effects[number] > 1 || (effects[number] == 1) != (row.state == State::done))
            report_.violate(fmt::format("I6 message {} has {} effects", number, effects[number]));
    }
}

void Ledger::judge_end() {
    judge_effects();
    std::set<std::uint64_t> heads;
    for (const Message& head : database_.find(Queue::outbox, {.blocking = true, .limit = 100'000}))
        heads.insert(head.id.seq());
    for (const auto& [number, row] : rows_) {
        const Written& written = of(number);
        std::size_t failures = 0;
        std::size_t ends = 0;  // permanent failures: attempts too
        std::size_t others = row.lost_count;
        bool done = false;
        for (const auto& [lease, call] : written.calls) {
            failures += call.saying == Saying::retry ? 1 : 0;
            ends += call.saying == Saying::fail ? 1 : 0;
            others += call.saying == Saying::down || call.saying == Saying::store_failed ? 1 : 0;
            done = done || call.saying == Saying::done;
        }
        if (row.state == State::done && !done)
            report_.violate(fmt::format("I1 message {} is done and was not handled", number));
        // A transaction that was not confirmed is an interruption as well.
        if (written.topic == "tx") others += written.calls.size();
        if (written.calls.size() > 1 + failures + others)
            report_.violate(
                fmt::format("I5 message {} was delivered {} times", number, written.calls.size()));
        if (row.retry_count > failures + ends && !unroutable(written))
            report_.violate(fmt::format("I8 message {} has paid too many attempts", number));
        if (!profile_.faults && profile_.close == 0 && row.lost_count > 0)
            report_.violate(fmt::format("I5 message {} was lost without a fault", number));
        if (!profile_.faults && profile_.close == 0 && !unroutable(written) &&
            row.retry_count != failures + ends)
            report_.violate(fmt::format("I8 message {} has not paid its attempts", number));
        if (!is_final(row) && blocked(number, row) && !profile_.one_down_for_ever && heads.empty())
            report_.violate(fmt::format("I7 what blocks message {} is not listed", number));
    }
}

}  // namespace postroom::sim
