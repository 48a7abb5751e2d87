// SqlStore: writing to the outbox.
#include "postroom/error.hpp"
#include "sql/enqueue_batch.hpp"
#include "sql/sql_store.hpp"
#include "sql/transactions.hpp"

namespace postroom::sql {

std::vector<EnqueueResult> SqlStore::enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                             const BornLease* born) {
    if (messages.empty()) return {};
    EnqueueBatch batch(units_, messages, born, random_, tx == nullptr);
    runner_.run_shared(
        tx, batch.statements(), [&] { batch.restart(); },
        [&](std::size_t tag, const Row& row) { batch.take(tag, row); });
    return batch.results();
}

Posted SqlStore::post(TxContext& tx, std::span<const NewMessage> messages, const BornLease* born) {
    const auto batch =
        std::make_shared<EnqueueBatch>(units_, messages, born, random_, /*own=*/false);
    runner_.run_later(tx, batch->statements(),
                      [batch](std::size_t tag, const Row& row) { batch->take(tag, row); });
    return {batch, &batch->results()};
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
    set_born(params, nullptr);
    return render({&unit.statements.front(), &params}, render_);
}

}  // namespace postroom::sql
