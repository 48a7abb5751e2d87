// SqlStore: settle, extend, reap.
#include <algorithm>

#include "postroom/error.hpp"
#include "queue/record_json.hpp"
#include "sql/ack_plan.hpp"
#include "sql/lease_groups.hpp"
#include "sql/sql_store.hpp"

namespace postroom::sql {

namespace {

// The failed attempt that this settlement is; empty: none.
std::string attempt_of(const Settlement& s) {
    if (!is_failed_attempt(s.outcome, s.reason)) return {};
    return to_json(FailedAttempt{.at = {},
                                 .worker = s.lease.owner,
                                 .destination = s.destination,
                                 .outcome = s.outcome,
                                 .error = s.error,
                                 .claimed_at = s.claimed_at,
                                 .took = s.took});
}

void set_single(Params& params, const Settlement& s, std::string_view attempt) {
    params.set("seq", static_cast<std::int64_t>(s.lease.id.seq()))
        .set("nonce", static_cast<std::int64_t>(s.lease.id.nonce()))
        .set("lease_id", s.lease.lease_id.value())
        .set_text_or_null("error", s.outcome == Outcome::release ? std::string_view{} : s.error)
        .set("delay_us", s.delay.count())
        .set("count_attempt", std::int64_t{s.outcome == Outcome::abandon ? 1 : 0})
        .set("max_attempts", std::int64_t{s.max_attempts})
        .set("reason", to_string(s.reason))
        .set("frees_key", std::int64_t{s.frees_key ? 1 : 0})
        .set_text_or_null("attempt", attempt);
}

}  // namespace

std::vector<Settled> SqlStore::settle(TxContext* tx, Queue queue,
                                      std::span<const Settlement> settlements) {
    const bool history = options_.keep_history;
    try {
        return settle_once(tx, queue, settlements, history);
    } catch (const Error& error) {
        // The history refused (disk, rights, a missing partition): that must not undo a delivery.
        // In the caller's transaction there is nothing to repeat; it is the caller's to end.
        const bool acks =
            std::any_of(settlements.begin(), settlements.end(),
                        [](const Settlement& s) { return s.outcome == Outcome::ack; });
        if (tx != nullptr || !history || !acks || error.kind() != ErrorKind::rejected) throw;
        return settle_once(tx, queue, settlements, false);
    }
}

std::vector<Settled> SqlStore::settle_once(TxContext* tx, Queue queue,
                                           std::span<const Settlement> settlements,
                                           bool keep_history) {
    const QueueUnits& units = units_.of(queue);
    const std::size_t first_group = settlements.size();
    AckPlan acks(units.ack, keep_history);
    Batch batch;
    std::vector<std::string> attempts(settlements.size());  // the batch points at them
    for (std::size_t i = 0; i < settlements.size(); ++i) {
        const Settlement& s = settlements[i];
        if (s.outcome == Outcome::ack) {
            acks.add(i, s.lease);
        } else {
            attempts[i] = attempt_of(s);
            set_single(batch.add(s.outcome == Outcome::fail ? units.fail : units.retry, i), s,
                       attempts[i]);
        }
    }
    // They share a transaction, and are as safe as the one that must be safest.
    const bool relaxed =
        tx == nullptr &&
        std::all_of(settlements.begin(), settlements.end(),
                    [](const Settlement& s) { return s.outcome == Outcome::ack && s.relaxed; });
    acks.add_to(batch, first_group, relaxed);
    std::vector<Settled> results(settlements.size(), Settled::lost);
    if (batch.empty()) return results;
    runner_.run_shared(
        tx, batch, [&] { std::fill(results.begin(), results.end(), Settled::lost); },
        [&](std::size_t tag, const Row& row) {
            if (tag >= first_group) {
                acks.each(tag - first_group, row,
                          [&](std::size_t i) { results[i] = Settled::done; });
            } else if (settlements[tag].outcome == Outcome::fail) {
                results[tag] = Settled::dead;
            } else {
                const auto state = static_cast<State>(row.integer(1));
                results[tag] = state == State::dead ? Settled::dead : Settled::ready;
            }
        });
    return results;
}

std::vector<bool> SqlStore::extend(Queue queue, std::span<const Lease> leases, Duration lease) {
    std::vector<bool> results(leases.size(), false);
    if (leases.empty()) return results;
    LeaseGroups groups;
    for (std::size_t i = 0; i < leases.size(); ++i) groups.add(i, leases[i]);
    Batch batch;
    groups.add_to(batch, {.many = &units_.of(queue).extend}, 0,
                  [&](Params& params) { params.set("lease_us", lease.count()); });
    keeper_.run(
        nullptr, batch, false, [&] { results.assign(leases.size(), false); },
        [&](std::size_t tag, const Row& row) {
            groups.each(tag, row, [&](std::size_t i) { results[i] = true; });
        });
    return results;
}

std::uint64_t SqlStore::reap(Queue queue, std::uint32_t limit, std::stop_token stop) {
    if (stop.stop_requested()) return 0;
    return run_for_count(
        units_.of(queue).reap, [&](Params& p) { p.set("limit", std::int64_t{limit}); }, stop);
}

}  // namespace postroom::sql
