// Writing to the inbox.
//
// A message that nobody has heard of is queued and noted at once. Else the first statement of a
// unit changes the key and notes in it what it found (previous, mismatch); the following ones act
// on the queued content, and the last one reads the notes back. Leases neither come nor go while
// the unit runs, so "leased" means the same in all of them. A lease that has run out counts as long
// as nobody took it back: its holder may still settle.
#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/fragments.hpp"
#include "backends/sqlite/steps.hpp"

namespace postroom::sqlite {

namespace {

// What there was, for the key k as it stands before the update.
constexpr std::string_view previous =
    "iif(k.state = 0 AND EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = k.seq AND l.locked_until "
    "> @now), 1, "
    "k.state)";

// Done or leased: the content stays as it is.
constexpr std::string_view fixed =
    "(k.state = 2 OR EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = k.seq))";

std::string note_received() {
    return weave(
        std::string(
            R"(INSERT INTO {key} AS k (source, message_id, state, topic, hash, first_seen, last_seen)
           VALUES (:source, :message_id, 0, :topic, :hash, @now, @now)
           ON CONFLICT (source, message_id) DO UPDATE SET last_seen = @now,
               mismatch = coalesce(k.hash <> :hash, 0), previous = )")
            .append(previous)
            .append(", hash = iif(")
            .append(fixed)
            .append(", coalesce(k.hash, :hash), coalesce(:hash, k.hash)), topic = iif(")
            .append(fixed)
            .append(R"(, k.topic, :topic),
               state = CASE WHEN k.state = 3 AND :revive <> 0 THEN 0 WHEN k.state = 4 THEN 0 ELSE k.state END,
               last_error = iif(k.state = 3 AND :revive <> 0, NULL, k.last_error)
           WHERE k.nonce IS NOT :nonce)"));
}

// New content for a message that waits. A dead one stays dead unless revived.
constexpr std::string_view renew_waiting = R"(UPDATE {waiting} AS m
       SET (topic, payload, hash, content_type, headers, ordering_key, due_time, expires_at, priority, max_attempts)
             = (SELECT :topic, :payload, :hash, :content_type, :headers, :ordering_key, :due_time, :expires_at,
                       :priority, :max_attempts),
           available_at = iif(m.state = 3 AND :revive = 0, m.available_at, @renewed_due_time),
           frees_key = iif(m.state = 3 AND :revive = 0 AND :ordering_key IS NOT NULL, m.frees_key, 0),
           state = iif(m.state = 3 AND :revive = 0, 3, 0),
           dead_reason = iif(:revive = 0, m.dead_reason, NULL),
           retry_count = iif(m.state = 3 AND :revive <> 0, 0, m.retry_count),
           lost_count = iif(m.state = 3 AND :revive <> 0, 0, m.lost_count),
           last_error = iif(m.state = 3 AND :revive <> 0, NULL, m.last_error)
       WHERE @keyed AND @free)";

// New content for a live one: rows there are never changed, so it moves.
constexpr std::string_view renew_live = R"(INSERT INTO {waiting} (seq, @message, available_at)
       SELECT m.seq, m.nonce, m.created_at, :priority, :max_attempts, m.occurred_at, :due_time, :expires_at,
              m.message_id, :topic, m.tenant_id, m.correlation_id, m.idempotency_key, m.aggregate_type,
              m.aggregate_id, :ordering_key, m.source, :hash, :content_type, :headers, :payload,
              @renewed_due_time
       FROM {live} AS m
       WHERE @keyed AND m.nonce <> :nonce AND @free)";

constexpr std::string_view remove_renewed = R"(DELETE FROM {live} AS m
       WHERE @keyed AND EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = m.seq AND w.nonce = m.nonce))";

// A message that is not queued yet gets its number from {live}, and moves on if it has no place
// there.
constexpr std::string_view queue_new = R"(INSERT INTO {live} (@message)
       SELECT :nonce, @now, max(:priority, 0), :max_attempts, NULL, CASE WHEN :due_time <= @now THEN :due_time END,
              :expires_at, :message_id, :topic, '', NULL, NULL, '__GLOBAL__', NULL, NULL, :source, :hash,
              :content_type, :headers, :payload
       FROM {key} AS k
       WHERE k.source = :source AND k.message_id = :message_id AND k.seq IS NULL AND k.state <> 2)";

constexpr std::string_view defer_new =
    R"(INSERT INTO {waiting} (seq, @message, available_at, state, dead_reason, last_error)
       SELECT m.seq, @scheduled_message, @capped_due_time, state, iif(state = 3, 'failed', NULL),
              iif(state = 3, last_error, NULL)
       FROM (SELECT * FROM {live} WHERE seq = last_insert_rowid() AND nonce = :nonce) AS m
       CROSS JOIN (SELECT state, last_error FROM {key} WHERE source = :source AND message_id = :message_id)
       WHERE :priority < 0 OR :ordering_key IS NOT NULL OR (:due_time IS NOT NULL AND due_time IS NULL) OR state = 3)";

constexpr std::string_view remove_deferred = R"(DELETE FROM {live}
       WHERE seq = last_insert_rowid() AND nonce = :nonce
         AND EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = last_insert_rowid() AND w.nonce = :nonce))";

constexpr std::string_view note_queued =
    R"(UPDATE {key} SET seq = last_insert_rowid(), nonce = :nonce
       WHERE source = :source AND message_id = :message_id AND seq IS NULL AND state <> 2)";

// The rule: nobody has heard of the message, and it is to be delivered at once. It is numbered
// first, so that its key is written once. What follows finds that it has nothing to do: a key with
// :nonce was made by this call.
//
// Where the rule does not hold, a NULL that is not allowed keeps the row out. An INSERT .. SELECT
// with a condition would do the same, but SQLite keeps copies of all pages that it changes: it
// might write more than one row and then fail.
constexpr std::string_view queue_unknown = R"(INSERT OR IGNORE INTO {live} (@message)
       VALUES (iif(:priority >= 0 AND :ordering_key IS NULL AND :due_time IS NULL
                   AND NOT EXISTS (SELECT 1 FROM {key} WHERE source = :source AND message_id = :message_id),
                   :nonce, NULL),
               @now, :priority, :max_attempts, NULL, NULL, :expires_at, :message_id, :topic, '', NULL, NULL,
               '__GLOBAL__', NULL, NULL, :source, :hash, :content_type, :headers, :payload))";

constexpr std::string_view note_unknown = R"(INSERT OR IGNORE INTO {key}
           (state, source, message_id, topic, hash, first_seen, last_seen, seq, nonce)
       VALUES (iif(changes() > 0, 0, NULL), :source, :message_id, :topic, :hash, @now, @now,
               last_insert_rowid(), :nonce))";

sql::UnitText receive() {
    Steps steps;
    const std::size_t queued = steps.add(queue_unknown);
    const std::size_t noted = steps.add_after({queued}, note_unknown);
    steps.add_after({noted}, "SELECT last_insert_rowid(), :nonce, NULL, 0 WHERE changes() > 0");
    steps.add_unless(queued, note_received());
    for (const std::string_view text : {renew_waiting, renew_live, remove_renewed, queue_new,
                                        defer_new, remove_deferred, note_queued})
        steps.add_unless(queued, text);
    steps.add_unless(noted,
                     "SELECT seq, nonce, previous, mismatch FROM {key} "
                     "WHERE source = :source AND message_id = :message_id");
    return steps.unit();
}

sql::UnitText see() {
    const std::string note =
        std::string(
            R"(INSERT INTO {key} AS k (source, message_id, state, hash, first_seen, last_seen)
           VALUES (:source, :message_id, 4, :hash, @now, @now)
           ON CONFLICT (source, message_id) DO UPDATE SET last_seen = @now,
               mismatch = coalesce(k.hash <> :hash, 0), hash = coalesce(k.hash, :hash), previous = )")
            .append(previous);
    return {.statements = weave_all({note,
                                     "SELECT previous, mismatch FROM {key} "
                                     "WHERE source = :source AND message_id = :message_id"})};
}

sql::UnitText mark() {
    // A key that was done keeps everything; having no content, it is not touched by the other
    // statements.
    const std::string note =
        std::string("UPDATE {key} AS k SET previous = ").append(previous).append(R"(,
               state = iif(k.state = 2, 2, :state),
               processed_at = iif(k.state <> 2 AND :state = 2, @now, k.processed_at),
               last_error = CASE WHEN k.state = 2 OR :state = 0 THEN k.last_error WHEN :state = 3 THEN :error END
           WHERE k.source = :source AND k.message_id = :message_id)");
    return {
        .statements = weave_all({
            note,
            R"(UPDATE {waiting} AS m
           SET state = :state, dead_reason = iif(:state = 3, 'failed', NULL),
               frees_key = iif(:state = 3, m.frees_key, 0),
               last_error = iif(:state = 3, coalesce(:error, m.last_error), m.last_error),
               available_at = iif(:state = 0, @now, m.available_at)
           WHERE :state IN (0, 3) AND @keyed)",
            // A live message that nobody holds is ready already.
            R"(INSERT INTO {waiting} (seq, @message, state, dead_reason, last_error, available_at)
           SELECT m.seq, @message, :state, iif(:state = 3, 'failed', NULL), iif(:state = 3, :error, NULL),
                  iif(:state = 0, @now, coalesce(due_time, created_at))
           FROM {live} AS m
           WHERE (:state = 3 OR (:state = 0 AND NOT @free)) AND @keyed)",
            R"(DELETE FROM {live} AS m
           WHERE @keyed
             AND (:state = 2 OR EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = m.seq AND w.nonce = m.nonce)))",
            "DELETE FROM {waiting} AS m WHERE :state = 2 AND @keyed",
            R"(DELETE FROM {lease}
           WHERE seq = (SELECT seq FROM {key} WHERE source = :source AND message_id = :message_id))",
            R"(UPDATE {key} SET seq = NULL, nonce = NULL
           WHERE source = :source AND message_id = :message_id AND state = 2)",
            "SELECT previous FROM {key} WHERE source = :source AND message_id = :message_id",
        })};
}

}  // namespace

sql::InboxTexts inbox_texts() { return {.receive = receive(), .see = see(), .mark = mark()}; }

}  // namespace postroom::sqlite
