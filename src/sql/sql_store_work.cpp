// SqlStore: claim, settle, extend, reap.
#include <algorithm>
#include <tuple>

#include "postroom/error.hpp"
#include "sql/lease_groups.hpp"
#include "sql/message_row.hpp"
#include "sql/sql_store.hpp"

namespace postroom::sql {

namespace {

void set_single(Params& params, const Settlement& s) {
    params.set("seq", static_cast<std::int64_t>(s.lease.id.seq()))
        .set("nonce", static_cast<std::int64_t>(s.lease.id.nonce()))
        .set("lease_id", s.lease.lease_id.value())
        .set_text_or_null("error", s.outcome == Outcome::release ? std::string_view{} : s.error)
        .set("delay_us", s.delay.count())
        .set("count_attempt", std::int64_t{s.outcome == Outcome::abandon ? 1 : 0})
        .set("max_attempts", std::int64_t{s.max_attempts})
        .set("reason", to_string(s.reason))
        .set("frees_key", std::int64_t{s.frees_key ? 1 : 0});
}

}  // namespace

std::vector<Message> SqlStore::claim(Queue queue, const ClaimRequest& request,
                                     std::stop_token stop) {
    if (stop.stop_requested()) return {};
    std::vector<Message> messages;
    Batch batch;
    const Unit& unit = units_.of(queue).claim;
    batch.add(unit)
        .set("owner", request.owner.uuid())
        .set("lease_id", static_cast<std::int64_t>(random_.next()))
        .set("lease_us", request.lease.count())
        .set("batch", std::int64_t{request.batch})
        .set("turn", std::int64_t{turn_.fetch_add(1, std::memory_order_relaxed) % 8});
    messages.reserve(request.batch);
    runner_.run(
        nullptr, batch, unit.separate, [&] { messages.clear(); },
        [&](std::size_t, const Row& row) { messages.push_back(read_message(queue, row)); }, stop);
    const auto goes_first = [](const Message& a, const Message& b) {
        return std::tuple(-std::int64_t{a.priority}, a.id) <
               std::tuple(-std::int64_t{b.priority}, b.id);
    };
    // Mostly they come that way, and messages are costly to move.
    if (!std::is_sorted(messages.begin(), messages.end(), goes_first))
        std::sort(messages.begin(), messages.end(), goes_first);
    return messages;
}

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
    LeaseGroups acks;
    Batch batch;
    for (std::size_t i = 0; i < settlements.size(); ++i) {
        const Settlement& s = settlements[i];
        if (s.outcome == Outcome::ack) {
            acks.add(i, s.lease);
        } else {
            set_single(batch.add(s.outcome == Outcome::fail ? units.fail : units.retry, i), s);
        }
    }
    // They share a transaction, and are as safe as the one that must be safest.
    const bool relaxed =
        tx == nullptr &&
        std::all_of(settlements.begin(), settlements.end(),
                    [](const Settlement& s) { return s.outcome == Outcome::ack && s.relaxed; });
    const auto set_how = [&](Params& params) {
        params.set("keep_history", std::int64_t{keep_history ? 1 : 0})
            .set("relaxed", std::int64_t{relaxed ? 1 : 0});
    };
    if (!acks.add_together(batch, units.ack_rows, first_group, set_how)) {
        const LeaseGroups::Ways ways{.many = &units.ack,
                                     .run = keep_history ? &units.ack_run_kept : &units.ack_run,
                                     .one = keep_history ? &units.ack_one_kept : &units.ack_one};
        acks.add_to(batch, ways, first_group, set_how);
    }
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
