#include "sql/enqueue_batch.hpp"

#include <algorithm>
#include <tuple>

#include "base/json_map.hpp"
#include "queue/born_lease.hpp"

namespace postroom::sql {

namespace {

// Tags of the units: the plain rows together, the others one by one behind them.
constexpr std::size_t plain_tag = 0;

std::string headers_json(const NewMessage& message) {
    return message.headers.empty() ? std::string{} : base::to_json(message.headers);
}

// Those that need more than a plain INSERT, in the order of their keys: two transactions that write
// the same keys must not wait for each other crosswise. With ordering keys they stay in the order
// given, which is the one in which they are numbered; the database ends a wait that is crosswise.
std::vector<std::size_t> special_rows(std::span<const NewMessage> messages) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (needs_enqueue(messages[i])) out.push_back(i);
    }
    const bool ordered = std::any_of(messages.begin(), messages.end(),
                                     [](const NewMessage& m) { return !m.ordering_key.empty(); });
    if (ordered) return out;
    std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(messages[a].tenant_id, messages[a].idempotency_key) <
               std::tie(messages[b].tenant_id, messages[b].idempotency_key);
    });
    return out;
}

}  // namespace

OutboxRow outbox_row(const NewMessage& message, Random& random) {
    return {&message, static_cast<std::int64_t>(random.next()), headers_json(message)};
}

EnqueueBatch::EnqueueBatch(const CompiledDialect& units, std::span<const NewMessage> messages,
                           const BornLease* born, Random& random, bool own)
    : own_(own), results_(messages.size()) {
    rows_.reserve(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (born != nullptr) require_bearable(messages[i]);
        rows_.push_back(outbox_row(messages[i], random));
        results_[i].message_id = messages[i].message_id;
        results_[i].top_level = false;  // nor is it there at all, before the database says so
    }
    for (const std::size_t i : special_rows(messages))
        set_message(statements_.add(units.enqueue, plain_tag + 1 + i), rows_[i]);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!needs_enqueue(messages[i])) plain_.push_back(i);
    }
    add_plain(units, born);
}

void EnqueueBatch::add_plain(const CompiledDialect& units, const BornLease* born) {
    const InsertUnits& bare_units = born == nullptr ? units.bare : units.bare_born;
    const bool bare = !bare_units.one.statements.empty() &&
                      std::all_of(plain_.begin(), plain_.end(),
                                  [this](std::size_t i) { return is_bare(*rows_[i].message); });
    const InsertUnits& insert = bare ? bare_units : units.insert;
    if (plain_.size() > 1 && !insert.many.statements.empty()) {
        std::vector<const OutboxRow*> rows;
        for (const std::size_t i : plain_) rows.push_back(&rows_[i]);
        Params& params = statements_.add(insert.many, plain_tag);
        columns_.emplace(rows, bare).set(params);
        set_born(params, born);
        return;
    }
    for (const std::size_t i : plain_) {
        Params& params = statements_.add(insert.one, plain_tag);
        bare ? set_bare(params, rows_[i]) : set_message(params, rows_[i]);
        set_born(params, born);
    }
}

void EnqueueBatch::take(std::size_t tag, const Row& row) {
    const auto seq = static_cast<std::uint64_t>(row.integer(0));
    if (tag == plain_tag) {
        const std::size_t place = plain_.at(next_plain_++);
        EnqueueResult& result = results_[place];
        result.id = WorkItemId(seq, static_cast<std::uint64_t>(rows_[place].nonce));
        result.top_level = own_ || row.integer(1) != 0;
    } else {
        results_[tag - 1] = {WorkItemId(seq, static_cast<std::uint64_t>(row.integer(1))),
                             MessageId(std::string(row.text(2))), row.integer(3) != 0, own_};
    }
}

}  // namespace postroom::sql
