// SqlStore: writing to the outbox.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "base/json_map.hpp"
#include "postroom/error.hpp"
#include "queue/born_lease.hpp"
#include "sql/outbox_columns.hpp"
#include "sql/sql_store.hpp"
#include "sql/transactions.hpp"

namespace postroom::sql {

namespace {

// Tags of the units in an enqueue: the plain rows together, the others one by one behind them.
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

std::vector<EnqueueResult> SqlStore::enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                             const BornLease* born) {
    if (messages.empty()) return {};
    std::vector<OutboxRow> rows;
    rows.reserve(messages.size());
    for (const NewMessage& m : messages) {
        if (born != nullptr) require_bearable(m);
        rows.push_back({&m, static_cast<std::int64_t>(random_.next()), headers_json(m)});
    }

    Batch batch;
    for (const std::size_t i : special_rows(messages)) {
        set_message(batch.add(units_.enqueue, plain_tag + 1 + i), rows[i]);
    }

    std::vector<const OutboxRow*> plain;
    for (const OutboxRow& row : rows) {
        if (!needs_enqueue(*row.message)) plain.push_back(&row);
    }
    const InsertUnits& bare_units = born == nullptr ? units_.bare : units_.bare_born;
    const bool bare = !bare_units.one.statements.empty() &&
                      std::all_of(plain.begin(), plain.end(),
                                  [](const OutboxRow* row) { return is_bare(*row->message); });
    const InsertUnits& insert = bare ? bare_units : units_.insert;
    std::optional<OutboxColumns> columns;
    if (plain.size() > 1 && !insert.many.statements.empty()) {
        Params& params = batch.add(insert.many, plain_tag);
        columns.emplace(plain, bare).set(params);
        set_born(params, born);
    } else {
        for (const OutboxRow* row : plain) {
            Params& params = batch.add(insert.one, plain_tag);
            bare ? set_bare(params, *row) : set_message(params, *row);
            set_born(params, born);
        }
    }

    std::vector<EnqueueResult> results(messages.size());
    std::size_t next_plain = 0;
    runner_.run_shared(
        tx, batch, [&] { next_plain = 0; },
        [&](std::size_t tag, const Row& row) {
            const auto seq = static_cast<std::uint64_t>(row.integer(0));
            if (tag == plain_tag) {
                const OutboxRow& source = *plain.at(next_plain++);
                results[static_cast<std::size_t>(source.message - messages.data())] = {
                    WorkItemId(seq, static_cast<std::uint64_t>(source.nonce)),
                    source.message->message_id, false, tx == nullptr || row.integer(1) != 0};
            } else {
                results[tag - 1] = {WorkItemId(seq, static_cast<std::uint64_t>(row.integer(1))),
                                    MessageId(std::string(row.text(2))), row.integer(3) != 0,
                                    tx == nullptr};
            }
        });
    return results;
}

SqlStatement SqlStore::enqueue_statement(const NewMessage& message) {
    const Unit& plain = units_.statement.statements.empty() ? units_.insert.one : units_.statement;
    const Unit& unit = needs_enqueue(message) ? units_.enqueue : plain;
    if (unit.statements.size() != 1) {
        throw Error(ErrorKind::misuse,
                    "this database needs several statements for a message with an idempotency key, "
                    "a due time, an ordering key or a low priority; use enqueue(tx, message) with "
                    "borrow() or a TxContext");
    }
    const OutboxRow row{&message, static_cast<std::int64_t>(random_.next()), headers_json(message)};
    Params params;
    set_message(params, row);
    set_born(params, nullptr);
    return render({&unit.statements.front(), &params}, render_);
}

}  // namespace postroom::sql
