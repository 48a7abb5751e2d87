#include "sql/enqueue_batch.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/json_map.hpp"
#include "postroom/error.hpp"
#include "queue/born_lease.hpp"

namespace postroom::sql {

namespace {

// Tags of the units: plain rows that share a statement, and behind them each message for itself.
constexpr std::size_t together_tag = 0;
constexpr std::size_t tag_of(std::size_t place) { return together_tag + 1 + place; }

std::string headers_json(const NewMessage& message) {
    return message.headers.empty() ? std::string{} : base::to_json(message.headers);
}

// Those that need more than a plain INSERT, in the order of their keys: two transactions that write
// the same keys must not wait for each other crosswise. With ordering keys they stay in the order
// given, which is the one in which they are numbered; the database ends a wait that is crosswise.
std::vector<std::size_t> special_rows(EnqueueBatch::Messages messages) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (needs_enqueue(*messages[i])) out.push_back(i);
    }
    const bool ordered = std::any_of(messages.begin(), messages.end(),
                                     [](const NewMessage* m) { return !m->ordering_key.empty(); });
    if (ordered) return out;
    std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(messages[a]->tenant_id, messages[a]->idempotency_key) <
               std::tie(messages[b]->tenant_id, messages[b]->idempotency_key);
    });
    return out;
}

}  // namespace

OutboxRow outbox_row(const NewMessage& message, Random& random) {
    return {&message, static_cast<std::int64_t>(random.next()), headers_json(message)};
}

std::vector<const NewMessage*> pointers_to(std::span<const NewMessage> messages) {
    std::vector<const NewMessage*> out;
    out.reserve(messages.size());
    for (const NewMessage& message : messages) out.push_back(&message);
    return out;
}

WrittenIn written_in(TxContext* tx) {
    if (tx == nullptr) return WrittenIn::own;
    return dynamic_cast<ConnectionHolder*>(tx) != nullptr ? WrittenIn::ours : WrittenIn::foreign;
}

EnqueueBatch::EnqueueBatch(const CompiledDialect& units, Messages messages, const BornLease* born,
                           Random& random, WrittenIn where)
    : where_(where), results_(messages.size()) {
    rows_.reserve(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (born != nullptr) require_bearable(*messages[i]);
        rows_.push_back(outbox_row(*messages[i], random));
        results_[i].message_id = messages[i]->message_id;
        results_[i].top_level = false;  // nor is it there at all, before the database says so
    }
    for (const std::size_t i : special_rows(messages)) {
        Params& params = statements_.add(units.enqueue, tag_of(i));
        set_message(params, rows_[i]);
        set_schedule(params, *messages[i]);
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!needs_enqueue(*messages[i])) plain_.push_back(i);
    }
    add_plain(units, born);
}

void EnqueueBatch::add_plain(const CompiledDialect& units, const BornLease* born) {
    const InsertUnits& bare_units = born == nullptr ? units.bare : units.bare_born;
    const bool bare = !bare_units.one.statements.empty() &&
                      std::all_of(plain_.begin(), plain_.end(),
                                  [this](std::size_t i) { return is_bare(*rows_[i].message); });
    const InsertUnits& insert = bare ? bare_units : units.insert;
    const FieldSet fields = bare ? in_bare : in_enqueue;
    if (plain_.size() > 1 && !insert.many.statements.empty()) {
        Params& params = statements_.add(insert.many, together_tag);
        columns_.emplace(plain_rows(), fields).set(params);
        set_born(params, born);
        return;
    }
    if (plain_.size() > 1 && !units.insert_packed.statements.empty()) {
        const std::vector<const OutboxRow*> rows = plain_rows();
        for (std::span rest(rows); !rest.empty();
             rest = rest.subspan(std::min(rest.size(), PackedRows::rows_max))) {
            Params& params = statements_.add(units.insert_packed, together_tag);
            packed_
                .emplace_back(rest.first(std::min(rest.size(), PackedRows::rows_max)), in_enqueue)
                .set(params);
            set_born(params, born);
        }
        return;
    }
    for (const std::size_t i : plain_) {
        Params& params = statements_.add(insert.one, tag_of(i));
        set_message(params, rows_[i], fields);
        set_born(params, born);
    }
}

void EnqueueBatch::restart() {
    next_plain_ = 0;
    for (EnqueueResult& result : results_) result.id = {};
}

// Rows come in the order in which they were sent; those that a trigger dropped are missing.
std::size_t EnqueueBatch::place_of(std::int64_t nonce) {
    for (std::size_t looked = 0; looked < plain_.size(); ++looked) {
        const std::size_t place = plain_[next_plain_];
        next_plain_ = (next_plain_ + 1) % plain_.size();
        if (rows_[place].nonce == nonce) return place;
    }
    throw Error(ErrorKind::outcome_unknown,
                "the database stored a message under another nonce; is there a trigger on the "
                "table that sets it?");
}

std::vector<const OutboxRow*> EnqueueBatch::plain_rows() const {
    std::vector<const OutboxRow*> rows;
    for (const std::size_t i : plain_) rows.push_back(&rows_[i]);
    return rows;
}

void EnqueueBatch::take(std::size_t tag, const Row& row) {
    const auto seq = static_cast<std::uint64_t>(row.integer(0));
    const std::size_t place = tag == together_tag ? place_of(row.integer(2)) : tag - tag_of(0);
    EnqueueResult& result = results_[place];
    if (std::ranges::binary_search(plain_, place)) {
        result.id = WorkItemId(seq, static_cast<std::uint64_t>(rows_[place].nonce));
        result.top_level =
            where_ == WrittenIn::own || (where_ == WrittenIn::ours && row.integer(1) != 0);
        return;
    }
    result.id = WorkItemId(seq, static_cast<std::uint64_t>(row.integer(1)));
    if (row.text(2) != result.message_id.str())
        result.message_id = MessageId(std::string(row.text(2)));
    result.already_existed = row.integer(3) != 0;
    result.top_level = where_ == WrittenIn::own;
}

void require_stored(std::span<const EnqueueResult> results, bool own) {
    const auto stored = results.size() - static_cast<std::size_t>(std::ranges::count(
                                             results, WorkItemId{}, &EnqueueResult::id));
    if (stored == results.size()) return;
    // In a transaction of its own the others are committed by now: whoever repeated the call would
    // store them twice.
    throw Error(own && stored > 0 ? ErrorKind::outcome_unknown : ErrorKind::rejected,
                fmt::format("the database stored {} of {} messages and dropped the others; is "
                            "there a trigger on the table that does?",
                            stored, results.size()));
}

}  // namespace postroom::sql
