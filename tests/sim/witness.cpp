#include "sim/witness.hpp"

#include <algorithm>

namespace postroom::sim {

namespace {

const Message* row_of(const Rows& rows, const WorkItemId& id) {
    for (const auto& [number, row] : rows)
        if (row.id == id) return &row;
    return nullptr;
}

bool same(const Message& a, const Message& b) {
    const bool same_lease = a.lease.has_value() == b.lease.has_value() &&
                            (!a.lease || (a.lease->lease_id == b.lease->lease_id &&
                                          a.lease->locked_until == b.lease->locked_until));
    return same_lease && is_final(a) == is_final(b) && a.retry_count == b.retry_count &&
           a.lost_count == b.lost_count && a.available_at == b.available_at &&
           a.dead_reason == b.dead_reason;
}

bool stands(const Message* row, const Lease& lease) {
    return row != nullptr && !is_final(*row) && row->lease &&
           row->lease->lease_id == lease.lease_id;
}

}  // namespace

const Message* Witness::after(const WorkItemId& id) const { return row_of(ledger_.rows(), id); }

bool Witness::any_ran_out() {
    const Rows& rows = ledger_.rows();
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return ran_out(row.second); });
}

void Witness::judge_rest(const Rows& before, const std::function<bool(const Message&)>& excused,
                         const char* call) {
    for (const auto& [number, row] : before) {
        const auto now_there = ledger_.rows().find(number);
        if (now_there == ledger_.rows().end() || excused(row)) continue;
        if (!same(row, now_there->second))
            report_.violate(fmt::format("I4 {} has changed message {}", call, number));
    }
}

std::vector<EnqueueResult> Witness::enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                            const BornLease* born) {
    std::vector<EnqueueResult> results = inner().enqueue(tx, messages, born);
    const Rows before = ledger_.refresh();
    judge_rest(
        before, [](const Message&) { return false; }, "enqueue");
    return results;
}

void Witness::commit(Transaction& tx, std::span<const Settlement> acknowledged) {
    tx.commit();
    const Rows before = ledger_.refresh();
    for (const Settlement& settlement : acknowledged)
        judge_settlement(before, settlement, Settled::done);
    judge_rest(
        before,
        [&](const Message& row) {
            return std::any_of(acknowledged.begin(), acknowledged.end(),
                               [&](const Settlement& s) { return s.lease.id == row.id; });
        },
        "commit");
}

std::vector<Message> Witness::claim(Queue queue, const ClaimRequest& request,
                                    std::stop_token stop) {
    std::vector<Message> claimed = inner().claim(queue, request, stop);
    if (claimed.empty() && !any_ran_out()) return claimed;  // the next look would tell
    const Rows before = ledger_.refresh();
    for (const Message& message : claimed) judge_claimed(before, message, request);
    if (claimed.size() > request.batch) report_.violate("I10 claim returned too many");
    judge_rest(
        before,
        [&](const Message& row) {
            const Message* const late = after(row.id);
            const bool taken_back =
                ran_out(row) && !late->lease && late->lost_count == row.lost_count + 1;
            return taken_back || std::any_of(claimed.begin(), claimed.end(),
                                             [&](const Message& m) { return m.id == row.id; });
        },
        "claim");
    return claimed;
}

void Witness::judge_claimed(const Rows& before, const Message& claimed,
                            const ClaimRequest& request) {
    const int number = Ledger::number_of(claimed.payload);
    const Message* const row = row_of(before, claimed.id);
    const Message* const leased = after(claimed.id);
    if (row == nullptr || leased == nullptr || is_final(*row))
        return report_.violate(fmt::format("I3 message {} claimed and not claimable", number));
    const bool was_free = !row->lease && row->available_at <= now();
    if (!was_free && !ran_out(*row))
        report_.violate(fmt::format("I3 message {} claimed while leased or not due", number));
    if (!claimed.lease || claimed.lease->owner != request.owner ||
        !stands(leased, *claimed.lease) || leased->lease->locked_until != now() + request.lease)
        report_.violate(fmt::format("I3 message {} claimed without its lease", number));
    if (leased->lost_count != row->lost_count + (row->lease ? 1 : 0) ||
        claimed.lost_count != leased->lost_count || leased->retry_count != row->retry_count)
        report_.violate(fmt::format("I8 message {} claimed with wrong counts", number));
    const std::string& key = ledger_.of(number).key;
    if (key.empty()) return;
    for (const auto& [other, earlier] : before) {
        const Written& written = ledger_.of(other);
        if (written.key != key || earlier.id.seq() >= row->id.seq()) continue;
        const bool passed = earlier.state == State::done ||
                            (earlier.state == State::dead && written.topic == "free");
        if (!passed) report_.violate(fmt::format("I7 message {} claimed before {}", number, other));
    }
}

std::vector<Settled> Witness::settle(TxContext* tx, Queue queue,
                                     std::span<const Settlement> settlements) {
    std::vector<Settled> results = inner().settle(tx, queue, settlements);
    if (tx != nullptr) return results;
    const Rows before = ledger_.refresh();
    for (std::size_t i = 0; i < results.size(); ++i)
        judge_settlement(before, settlements[i], results[i]);
    judge_rest(
        before,
        [&](const Message& row) {
            return std::any_of(settlements.begin(), settlements.end(), [&](const Settlement& s) {
                return s.lease.id == row.id && stands(&row, s.lease);
            });
        },
        "settle");
    return results;
}

void Witness::judge_settlement(const Rows& before, const Settlement& settlement, Settled settled) {
    const Message* const row = row_of(before, settlement.lease.id);
    if (!stands(row, settlement.lease)) {
        if (settled != Settled::lost)
            report_.violate("I4 a settlement counted whose lease was lost");
        return;
    }
    const Message& late = *after(row->id);
    ledger_.settled(*row, settlement);
    const bool free = !late.lease && !is_final(late) && late.lost_count == row->lost_count;
    bool right = false;
    switch (settlement.outcome) {
        case Outcome::ack:
            right = settled == Settled::done && late.state == State::done;
            break;
        case Outcome::abandon:
            return judge_abandon(*row, late, settlement, settled);
        case Outcome::fail:
            right =
                settled == Settled::dead && late.state == State::dead &&
                late.dead_reason == settlement.reason &&
                late.retry_count == row->retry_count + (settlement.reason == DeadReason::failed);
            break;
        case Outcome::release:
            right = settled == Settled::ready && free && late.retry_count == row->retry_count;
            break;
    }
    if (!right)
        report_.violate(fmt::format("I8 message {} is not what it was settled as",
                                    Ledger::number_of(row->payload)));
}

void Witness::judge_abandon(const Message& row, const Message& late, const Settlement& settlement,
                            Settled settled) {
    const int number = Ledger::number_of(row.payload);
    const bool last = row.retry_count + 1 >= settlement.max_attempts;
    if (late.retry_count != row.retry_count + 1 ||
        settled != (last ? Settled::dead : Settled::ready))
        return report_.violate(fmt::format("I8 message {} counts its attempts wrongly", number));
    if (last) {
        if (late.state != State::dead || late.dead_reason != DeadReason::max_attempts)
            report_.violate(fmt::format("I8 message {} lives beyond its attempts", number));
        return;
    }
    const Instant due = now() + settlement.delay;
    if (is_final(late) || late.lease ||
        late.available_at != std::min(due, row.expires_at.value_or(due)))
        report_.violate(fmt::format("I8 message {} is not tried again when it should", number));
}

std::vector<bool> Witness::extend(Queue queue, std::span<const Lease> leases, Duration lease) {
    std::vector<bool> results = inner().extend(queue, leases, lease);
    const Rows before = ledger_.refresh();
    for (std::size_t i = 0; i < results.size(); ++i) {
        const bool stood = stands(row_of(before, leases[i].id), leases[i]);
        const Message* const late = after(leases[i].id);
        if (results[i] != stood) report_.violate("I4 extend did not tell whether the lease stood");
        if (stood && (!stands(late, leases[i]) || late->lease->locked_until != now() + lease))
            report_.violate("I3 extend did not prolong the lease");
    }
    judge_rest(
        before,
        [&](const Message& row) {
            return std::any_of(leases.begin(), leases.end(),
                               [&](const Lease& l) { return stands(&row, l); });
        },
        "extend");
    return results;
}

std::uint64_t Witness::reap(Queue queue, std::uint32_t limit, std::stop_token stop) {
    const std::uint64_t count = inner().reap(queue, limit, stop);
    if (count == 0 && !any_ran_out()) return count;
    const Rows before = ledger_.refresh();
    judge_rest(
        before,
        [&](const Message& row) {
            const Message* const late = after(row.id);
            return ran_out(row) && !late->lease && !is_final(*late) &&
                   late->lost_count == row.lost_count + 1;
        },
        "reap");
    return count;
}

}  // namespace postroom::sim
