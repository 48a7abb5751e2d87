// Writing to the outbox.
#include <fmt/format.h>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/fragments.hpp"
#include "backends/sqlite/row_block.hpp"
#include "backends/sqlite/steps.hpp"

namespace postroom::sqlite {

namespace {

// `mark`: around the values, see row_block.hpp.
std::string insert_one(std::string_view mark) {
    return weave(fmt::format(R"(INSERT INTO {{live}} (
            nonce, created_at, born_until, lease_id, owner, priority, max_attempts, occurred_at, expires_at,
            message_id, topic, tenant_id, correlation_id, idempotency_key, aggregate_type, aggregate_id, ordering_key,
            content_type, headers, payload)
        VALUES {mark}(:nonce, @now, CASE WHEN :born_us IS NOT NULL THEN @now + :born_us END, :born_lease_id,
            :born_owner, :priority, :max_attempts, :occurred_at, :expires_at, :message_id, :topic, :tenant_id,
            :correlation_id, :idempotency_key, :aggregate_type, :aggregate_id, :ordering_key, :content_type, :headers,
            :payload){mark})",
                             fmt::arg("mark", mark)));
}

// RETURNING would make each row twice as dear. Whether a savepoint of the caller's is open cannot
// be seen, so no row counts as written at the top level.
sql::UnitText insert() { return {.statements = {insert_one(row_mark), std::string(row_question)}}; }

// Every message gets its number from {live}, so that numbers come from one source. What has no
// place there moves on at once. Whether the key was ours is told by the nonce in its row; whether
// the due time had come, by the row in {live}, because time goes on between statements.
sql::UnitText enqueue() {
    Steps steps;
    const std::size_t noted =
        steps.add(R"(INSERT INTO {key} (tenant_id, idempotency_key, nonce, message_id, created_at)
           SELECT :tenant_id, :key, :nonce, :message_id, @now WHERE :key IS NOT NULL
           ON CONFLICT DO NOTHING)");
    const std::size_t queued = steps.add(R"(INSERT INTO {live} (@message)
           SELECT :nonce, @now, max(:priority, 0), :max_attempts, :occurred_at,
                  CASE WHEN :due_time <= @now THEN :due_time END, :expires_at, :message_id, :topic, :tenant_id,
                  :correlation_id, :idempotency_key, :aggregate_type, :aggregate_id, NULL, NULL, NULL,
                  :content_type, :headers, :payload
           WHERE :key IS NULL
              OR EXISTS (SELECT 1 FROM {key}
                         WHERE tenant_id = :tenant_id AND idempotency_key = :key AND nonce = :nonce))");
    const std::size_t deferred =
        steps.add_after({queued}, R"(INSERT INTO {waiting} (seq, @message, available_at)
           SELECT seq, @scheduled_message, @capped_due_time
           FROM {live}
           WHERE seq = last_insert_rowid() AND nonce = :nonce
             AND (:priority < 0 OR :ordering_key IS NOT NULL OR (:due_time IS NOT NULL AND due_time IS NULL)))");
    steps.add_after({deferred}, R"(DELETE FROM {live}
           WHERE seq = last_insert_rowid() AND nonce = :nonce
             AND EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = last_insert_rowid() AND w.nonce = :nonce))");
    steps.add_after({noted}, R"(UPDATE {key} SET seq = last_insert_rowid()
           WHERE tenant_id = :tenant_id AND idempotency_key = :key AND nonce = :nonce)");
    steps.add(R"(SELECT last_insert_rowid(), :nonce, :message_id, 0 WHERE :key IS NULL
           UNION ALL
           SELECT seq, nonce, message_id, nonce <> :nonce FROM {key}
           WHERE tenant_id = :tenant_id AND idempotency_key = :key)");
    return steps.unit();
}

}  // namespace

sql::OutboxTexts outbox_texts() {
    // The driver inserts many at once by itself.
    return {
        .insert = insert(), .insert_many = {}, .enqueue = enqueue(), .statement = insert_one("")};
}

}  // namespace postroom::sqlite
