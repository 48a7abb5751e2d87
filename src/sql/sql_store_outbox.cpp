// SqlStore: writing to the outbox.
#include <deque>

#include "postroom/error.hpp"
#include "sql/enqueue_batch.hpp"
#include "sql/sql_store.hpp"
#include "sql/transactions.hpp"

namespace postroom::sql {

std::vector<EnqueueResult> SqlStore::enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                             const BornLease* born) {
    if (messages.empty()) return {};
    const bool shared = tx == nullptr && enqueue_group_ != nullptr && EnqueueGroup::takes(messages);
    std::vector<EnqueueResult> results = shared ? enqueue_group_->run(messages, born)
                                                : write_messages(tx, pointers_to(messages), born);
    require_stored(results, tx == nullptr);
    return results;
}

std::vector<EnqueueResult> SqlStore::write_messages(TxContext* tx,
                                                    std::span<const NewMessage* const> messages,
                                                    const BornLease* born) {
    EnqueueBatch batch(units_, messages, born, random_, written_in(tx));
    runner_.run_shared(
        tx, batch.statements(), [&] { batch.restart(); },
        [&](std::size_t tag, const Row& row) { batch.take(tag, row); });
    return batch.take_results();
}

// Where there are statements for many rows. Writers that take turns anyway have a group of their
// own (write_group.hpp).
std::unique_ptr<EnqueueGroup> SqlStore::make_enqueue_group(const Backend& backend) {
    if (backend.group_commit || units_.insert.many.statements.empty()) return nullptr;
    return std::make_unique<EnqueueGroup>(
        [this](std::span<const NewMessage* const> messages, const BornLease* born) {
            return write_messages(nullptr, messages, born);
        });
}

Posted SqlStore::post(TxContext& tx, std::span<const NewMessage> messages, const BornLease* born) {
    const auto batch = std::make_shared<EnqueueBatch>(units_, pointers_to(messages), born, random_,
                                                      written_in(&tx));
    runner_.run_later(tx, batch->statements(),
                      [batch](std::size_t tag, const Row& row) { batch->take(tag, row); });
    return {batch, &batch->results()};
}

std::optional<EnqueueResult> SqlStore::find_key(TxContext* tx, const std::string& tenant_id,
                                                const std::string& idempotency_key) {
    std::optional<EnqueueResult> found;
    Batch batch;
    batch.add(units_.find_key).set("tenant_id", tenant_id).set("key", idempotency_key);
    runner_.run(
        tx, batch, false, [&] { found.reset(); },
        [&](std::size_t, const Row& row) {
            found = EnqueueResult{.id = WorkItemId(static_cast<std::uint64_t>(row.integer(0)),
                                                   static_cast<std::uint64_t>(row.integer(1))),
                                  .message_id = MessageId(std::string(row.text(2))),
                                  .already_existed = true};
        });
    return found;
}

std::optional<std::vector<RoutineResult>> SqlStore::enqueue_by_routine(
    std::span<const NewMessage> messages) {
    if (units_.as_writer.statements.empty()) return std::nullopt;
    std::deque<OutboxRow> rows;  // they stay where they are
    Batch batch;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        Params& params = batch.add(units_.as_writer, i);
        set_message(params, rows.emplace_back(outbox_row(messages[i], random_)));
        set_schedule(params, messages[i]);
    }
    std::vector<RoutineResult> results(messages.size());
    runner_.run_shared(
        nullptr, batch, [] {},
        [&](std::size_t tag, const Row& row) {
            results[tag].id = WorkItemId::parse(row.text(0)).value_or(WorkItemId{});
            if (!row.null(1)) results[tag].already_existed = row.integer(1) != 0;
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
    const OutboxRow row = outbox_row(message, random_);
    Params params;
    set_message(params, row);
    set_schedule(params, message);
    set_born(params, nullptr);
    return render({&unit.statements.front(), &params}, render_);
}

}  // namespace postroom::sql
