// Writing to the outbox.
#include <string>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/steps.hpp"

namespace postroom::sqlite {

namespace {

constexpr const char* insert_text =
    "INSERT INTO {live} ({columns:enqueue}, created_at, born_until, lease_id, owner) VALUES {rows}";
constexpr const char* insert_row =
    "({bound:enqueue}, {now}, CASE WHEN :born_us IS NOT NULL THEN {now} + :born_us END, "
    ":born_lease_id, :born_owner)";

// RETURNING would make each row twice as dear. Whether a savepoint of the caller's is open cannot
// be seen, so no row counts as written at the top level. A row that a trigger drops has no number.
sql::UnitText insert() {
    return {.statements = {insert_text, "SELECT last_insert_rowid(), 0 WHERE changes() > 0"},
            .traits = {.numbers_rows = true},
            .row = insert_row};
}

// Every message gets its number from {live}, so that numbers come from one source. What has no
// place there moves on at once. Whether the key was ours is told by the nonce in its row; whether
// the due time had come, by the row in {live}, because time goes on between statements. A trigger
// may drop the row, and last_insert_rowid() is the number of another message then: there is an
// answer, and a key, only if the row is found.
sql::UnitText enqueue() {
    const std::string stored = R"((EXISTS (SELECT 1 FROM {live}
                     WHERE seq = last_insert_rowid() AND nonce = :nonce)
             OR EXISTS (SELECT 1 FROM {waiting}
                        WHERE seq = last_insert_rowid() AND nonce = :nonce)))";
    const std::string our_key =
        " WHERE tenant_id = :tenant_id AND idempotency_key = :key AND nonce = :nonce";
    Steps steps;
    const std::size_t noted =
        steps.add(R"(INSERT INTO {key} (tenant_id, idempotency_key, nonce, message_id, created_at)
           SELECT :tenant_id, :key, :nonce, :message_id, {now} WHERE :key IS NOT NULL
           ON CONFLICT DO NOTHING)");
    const std::size_t queued =
        steps.add(R"(INSERT INTO {live} ({columns:enqueue}, due_time, created_at)
           SELECT {numbered}, {due_by_now}, {now}
           WHERE :key IS NULL
              OR EXISTS (SELECT 1 FROM {key}
                         WHERE tenant_id = :tenant_id AND idempotency_key = :key AND nonce = :nonce))");
    const std::string has_no_place =
        " WHERE seq = last_insert_rowid() AND nonce = :nonce AND (:priority < 0 "
        "OR :ordering_key IS NOT NULL OR (:due_time IS NOT NULL AND due_time IS NULL))";
    steps.add_after({queued}, R"(INSERT INTO {waiting} ({columns:live}, available_at)
           SELECT {scheduled}, {available_new}
           FROM {live})" + has_no_place);
    // Also if it was dropped on its way: here it would be claimed too early.
    steps.add_after({queued}, "DELETE FROM {live}" + has_no_place);
    const std::size_t numbered = steps.add_after(
        {noted}, "UPDATE {key} SET seq = last_insert_rowid()" + our_key + " AND " + stored);
    steps.add_unless(numbered, "DELETE FROM {key}" + our_key + " AND seq = 0");
    steps.add("SELECT last_insert_rowid(), :nonce, :message_id, 0 WHERE :key IS NULL AND " +
              stored +
              R"(
           UNION ALL
           SELECT seq, nonce, message_id, nonce <> :nonce FROM {key}
           WHERE tenant_id = :tenant_id AND idempotency_key = :key)");
    return steps.unit();
}

}  // namespace

sql::OutboxTexts outbox_texts() {
    // The driver inserts many at once by itself.
    return {.insert = insert(),
            .insert_many = {},
            .enqueue = enqueue(),
            .statement = {.statements = {insert_text}, .row = insert_row}};
}

}  // namespace postroom::sqlite
