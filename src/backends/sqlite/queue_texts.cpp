// The verbs that both queues share, but for claim and reap.
#include <fmt/format.h>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/fragments.hpp"
#include "backends/sqlite/steps.hpp"
#include "sql/message_row.hpp"

namespace postroom::sqlite {

namespace {

// An ack is written for one message and for a run of them. JSON arrays would be dearer than either:
// they have to be written, read and put into a set. RETURNING stands in the rare cases only: it
// reads all columns of a row and keeps a list. A question for what the statement before has changed
// does the same.
//
// For a run there is a short way first: when each of its messages is live and held, which is the
// rule, all of them go at once. Else each is looked at by itself.
enum class AckForm { run, one };

constexpr std::string_view messages(AckForm form) {
    return form == AckForm::run ? "@run" : "@this";
}

// The run as a whole.
constexpr std::string_view whole_run = "m.seq BETWEEN :first AND :last AND @run_held";

// The end of the short way. Returns the position of the removal.
std::size_t remove_whole_run(Steps& steps) {
    const std::size_t gone =
        steps.add(fmt::format("DELETE FROM {{live}} AS m WHERE {}", whole_run));
    steps.add_after({gone}, "SELECT NULL WHERE changes() > 0");
    steps.add_after({gone}, R"(DELETE FROM {lease}
           WHERE seq BETWEEN :first AND :last AND lease_id = :lease_id AND changes() > 0)");
    return gone;
}

// The end of an ack: the messages go, and the leases of those that have gone.
void remove_acked(Steps& steps, AckForm form) {
    const auto remove = [&](std::string_view from, std::string_view held) {
        return fmt::format("DELETE FROM {} AS m WHERE {} AND {}{}", from, messages(form), held,
                           form == AckForm::run ? " RETURNING seq" : "");
    };
    const auto forget = [](std::string_view leases) {
        return fmt::format(
            "DELETE FROM {{lease}} WHERE {} AND lease_id = :lease_id "
            "AND NOT EXISTS (SELECT 1 FROM {{live}} AS m WHERE m.seq = {{lease}}.seq) "
            "AND NOT EXISTS (SELECT 1 FROM {{waiting}} AS m WHERE m.seq = {{lease}}.seq)",
            leases);
    };
    if (form == AckForm::run) {
        const std::size_t whole = remove_whole_run(steps);
        steps.add_unless(whole, remove("{live}", "@live_held"));
        steps.add_unless(whole, remove("{waiting}", "@held"));
        steps.add_unless(whole, forget("seq BETWEEN :first AND :last"));
        return;
    }
    constexpr std::string_view question = "SELECT :seq WHERE changes() > 0";
    const std::size_t live = steps.add(remove("{live}", "@live_held"));
    steps.add_after({live}, question);
    const std::size_t waiting = steps.add_unless(live, remove("{waiting}", "@held"));
    steps.add_after({waiting}, question);
    steps.add(forget("seq = :seq"));
}

// What is noted of messages before they go: `note` makes the statement for a table, the values of
// its counts, and which rows of it.
template <class Note>
void note_acked(Steps& steps, AckForm form, const Note& note) {
    const std::string live = fmt::format("{} AND @live_held", messages(form));
    const std::string waiting = fmt::format("{} AND @held", messages(form));
    std::size_t noted = 0;
    if (form == AckForm::run) {
        noted = steps.add(note("{live}", "0, 0", whole_run));
        steps.add_unless(noted, note("{live}", "0, 0", live));
    } else {
        noted = steps.add(note("{live}", "0, 0", live));
    }
    steps.add_unless(noted, note("{waiting}", "m.retry_count, m.lost_count", waiting));
}

sql::UnitText outbox_ack(AckForm form, bool history) {
    Steps steps;
    // OR REPLACE: a number that a doctored file gave out twice must not keep a delivery from being
    // noted.
    const auto keep = [](std::string_view table, std::string_view counts, std::string_view rows) {
        return fmt::format(
            "INSERT OR REPLACE INTO {{done}} (seq, @message, processed_at, processed_by, "
            "retry_count, lost_count) "
            "SELECT m.seq, @message, @now, :owner_text, {} FROM {} AS m WHERE {}",
            counts, table, rows);
    };
    if (history) note_acked(steps, form, keep);
    remove_acked(steps, form);
    return steps.unit();
}

sql::UnitText inbox_ack(AckForm form) {
    Steps steps;
    // A statement for each table: over a union SQLite would read all keys. With = in place of IN
    // the one key needs no set. UPDATE .. FROM is dearer.
    const auto finish = [&](std::string_view table, std::string_view, std::string_view rows) {
        return fmt::format(
            "UPDATE {{key}} SET state = 2, seq = NULL, nonce = NULL, last_error = NULL, "
            "processed_at = @now, processed_by = :owner_text "
            "WHERE (source, message_id) {} (SELECT m.source, m.message_id FROM {} AS m WHERE {})",
            form == AckForm::one ? "=" : "IN", table, rows);
    };
    note_acked(steps, form, finish);
    remove_acked(steps, form);
    return steps.unit();
}

// Retry and fail: `waiting` changes a message that waits, `live` moves one that is live. At their
// end it waits, and nobody holds it any more.
sql::UnitText release(Queue queue, std::string_view waiting, std::string_view live) {
    Steps steps;
    const std::size_t changed = steps.add(waiting);
    const std::size_t moved = steps.add_unless(changed, live);
    steps.add_after({moved}, R"(DELETE FROM {live} AS m
           WHERE @this AND EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = :seq AND w.nonce = :nonce))");
    if (queue == Queue::inbox) {
        steps.add_after({changed, moved}, R"(UPDATE {key} SET state = m.state
           FROM {waiting} AS m
           WHERE @this AND @held AND {key}.source = m.source AND {key}.message_id = m.message_id)");
    }
    steps.add_after({changed, moved}, R"(DELETE FROM {lease}
           WHERE seq = :seq AND lease_id = :lease_id
             AND EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = :seq AND w.nonce = :nonce))");
    return steps.unit();
}

sql::UnitText retry(Queue queue) {
    // The comparison is NULL, and so not true, where there is no limit.
    return release(
        queue,
        R"(UPDATE {waiting} AS m
            SET (state, dead_reason, available_at, retry_count, last_error, frees_key) = (
                SELECT iif(dead, 3, 0), iif(dead, 'max_attempts', NULL),
                       iif(dead, m.available_at, min(@now + :delay_us, coalesce(m.expires_at, @now + :delay_us))),
                       m.retry_count + :count_attempt, coalesce(:error, m.last_error),
                       iif(dead AND :frees_key <> 0 AND m.ordering_key IS NOT NULL, 1, 0)
                FROM (SELECT :count_attempt <> 0
                          AND m.retry_count + 1 >= coalesce(m.max_attempts, nullif(:max_attempts, 0)) AS dead))
            WHERE m.seq = :seq AND m.nonce = :nonce AND @held
            RETURNING seq, state)",
        R"(INSERT INTO {waiting} (seq, @message, state, dead_reason, available_at, retry_count, last_error)
            SELECT seq, @message, iif(dead, 3, 0), iif(dead, 'max_attempts', NULL),
                   iif(dead, coalesce(due_time, created_at),
                       min(@now + :delay_us, coalesce(expires_at, @now + :delay_us))), :count_attempt, :error
            FROM (SELECT m.*, :count_attempt <> 0 AND 1 >= coalesce(m.max_attempts, nullif(:max_attempts, 0)) AS dead
                  FROM {live} AS m
                  WHERE m.seq = :seq AND m.nonce = :nonce AND @live_held)
            RETURNING seq, state)");
}

sql::UnitText fail(Queue queue) {
    return release(
        queue,
        R"(UPDATE {waiting} AS m
            SET state = 3, dead_reason = :reason, last_error = coalesce(:error, m.last_error),
                frees_key = iif(:frees_key <> 0 AND m.ordering_key IS NOT NULL, 1, 0)
            WHERE m.seq = :seq AND m.nonce = :nonce AND @held
            RETURNING seq)",
        R"(INSERT INTO {waiting} (seq, @message, state, dead_reason, available_at, last_error)
            SELECT m.seq, @message, 3, :reason, coalesce(due_time, created_at), :error
            FROM {live} AS m
            WHERE m.seq = :seq AND m.nonce = :nonce AND @live_held
            RETURNING seq)");
}

sql::UnitText extend() {
    return {.statements = weave_all({
                R"(UPDATE {lease} AS held SET locked_until = @now + :lease_us
           WHERE held.seq IN (SELECT value FROM json_each(:seqs)) AND held.lease_id = :lease_id
             AND (EXISTS (SELECT 1 FROM {live} AS m
                          WHERE m.seq = held.seq AND m.nonce IN (SELECT value FROM json_each(:nonces)))
                  OR EXISTS (SELECT 1 FROM {waiting} AS m
                             WHERE m.seq = held.seq AND m.nonce IN (SELECT value FROM json_each(:nonces))))
           RETURNING seq)",
                R"(INSERT INTO {lease} (seq, lease_id, locked_until, owner)
           SELECT m.seq, m.lease_id, @now + :lease_us, :owner
           FROM {live} AS m
           WHERE @these AND m.lease_id = :lease_id AND @free
           RETURNING seq)",
            })};
}

sql::UnitText redrive(Queue queue) {
    sql::UnitText unit;
    if (queue == Queue::inbox) {
        unit.statements.push_back(weave(R"(UPDATE {key} SET state = 0, last_error = NULL
           WHERE (source, message_id) IN (
               SELECT m.source, m.message_id FROM {waiting} AS m WHERE @these AND m.state = 3))"));
    }
    unit.statements.push_back(weave(R"(UPDATE {waiting} AS m
           SET state = 0, dead_reason = NULL, last_error = NULL, retry_count = 0, lost_count = 0, available_at = @now,
               frees_key = 0
           WHERE @these AND m.state = 3)"));
    unit.statements.emplace_back("SELECT changes()");
    return unit;
}

sql::UnitText hold() {
    const auto lease = [](std::string_view from) {
        return weave(std::string("INSERT INTO {lease} (seq, lease_id, locked_until, owner) "
                                 "SELECT m.seq, :lease_id, @now + :lease_us, :owner FROM ")
                         .append(from)
                         .append(" AND @these AND @free RETURNING seq"));
    };
    return {.statements = {
                weave("DELETE FROM {lease} WHERE seq IN (SELECT value FROM json_each(:seqs)) "
                      "AND locked_until <= @now"),
                lease("{live} AS m WHERE coalesce(m.born_until, 0) <= @now"),
                lease("{waiting} AS m WHERE true")}};
}

sql::UnitText outbox_purge() {
    return {.statements = weave_all({
                R"(DELETE FROM {done}
           WHERE seq IN (SELECT seq FROM {done} INDEXED BY {done_by_time}
                         WHERE processed_at <= @now - :older_us ORDER BY processed_at LIMIT :batch))",
                "SELECT changes(), 0",
                R"(DELETE FROM {key}
           WHERE (tenant_id, idempotency_key) IN (
               SELECT tenant_id, idempotency_key FROM {key} INDEXED BY {key_by_time}
               WHERE created_at <= @now - :window_us ORDER BY created_at LIMIT :batch))",
                "SELECT changes(), 0",
            })};
}

sql::UnitText inbox_purge() {
    return {.statements = weave_all({
                R"(DELETE FROM {key}
           WHERE (source, message_id) IN (
               SELECT source, message_id FROM {key} INDEXED BY {key_done}
               WHERE state = 2 AND last_seen <= @now - :older_us ORDER BY last_seen LIMIT :batch))",
                "SELECT changes(), 0",
            })};
}

sql::UnitText counts(Queue queue) {
    // Writers take turns, so the oldest message is the one with the lowest number; in the inbox a
    // message may have been heard of long before it was queued.
    constexpr std::string_view outbox_rest = R"(
               (SELECT count(*) FROM {waiting} INDEXED BY {waiting_dead} WHERE state = 3) AS dead, 0 AS seen,
               (SELECT min(created_at) FROM (
                    SELECT * FROM (SELECT created_at FROM {live} ORDER BY seq LIMIT 1)
                    UNION ALL
                    SELECT * FROM (SELECT created_at FROM {waiting} WHERE state = 0 ORDER BY seq LIMIT 1))) AS oldest)";
    constexpr std::string_view inbox_rest = R"(
               (SELECT count(*) FROM {key} INDEXED BY {key_open} WHERE state <> 2 AND state = 3) AS dead,
               (SELECT count(*) FROM {key} INDEXED BY {key_open} WHERE state <> 2 AND state = 4) AS seen,
               (SELECT first_seen FROM {key} INDEXED BY {key_open}
                WHERE state <> 2 AND state = 0 AND seq IS NOT NULL ORDER BY first_seen LIMIT 1) AS oldest)";
    std::string text =
        R"(SELECT queued - in_progress, in_progress, dead, seen, retrying, oldest FROM (
        SELECT (SELECT count(*) FROM {live})
                + (SELECT count(*) FROM {waiting} INDEXED BY {waiting_due}
                   WHERE state = 0 AND priority >= 0 AND ordering_key IS NULL)
                + (SELECT count(*) FROM {waiting} INDEXED BY {waiting_low}
                   WHERE state = 0 AND priority < 0 AND ordering_key IS NULL)
                + (SELECT count(*) FROM {waiting} INDEXED BY {waiting_line}
                   WHERE state = 0 AND frees_key = 0 AND ordering_key IS NOT NULL) AS queued,
               (SELECT count(*) FROM {lease} AS l INDEXED BY {lease_by_end}
                WHERE l.locked_until > @now
                  AND (EXISTS (SELECT 1 FROM {live} AS m WHERE m.seq = l.seq)
                       OR EXISTS (SELECT 1 FROM {waiting} AS m WHERE m.seq = l.seq AND m.state = 0)))
                + (SELECT count(*) FROM {live} AS m INDEXED BY {live_born}
                   WHERE m.born_until > @now AND @free) AS in_progress,
               (SELECT count(*) FROM {waiting} AS m INDEXED BY {waiting_retrying}
                WHERE m.state = 0 AND m.retry_count > 0
                  AND NOT EXISTS (SELECT 1 FROM {lease} AS l
                                  WHERE l.seq = m.seq AND l.locked_until > @now)) AS retrying,)";
    text.append(queue == Queue::outbox ? outbox_rest : inbox_rest).append(")");
    return {.statements = {weave(text)}};
}

// Each of them is the first entry of an index. A live message is claimable, or leased to somebody
// who is at work: either way a claim is soon due. The answer has to stand until the file changes
// again, so a writer whose commit is on its way is waited for. One that begins later changes the
// file.
constexpr std::string_view claimable_in = R"(SELECT
    CASE WHEN EXISTS (SELECT 1 FROM {live}) THEN 0 ELSE max(0, min(at) - @now) END
    FROM (SELECT min(available_at) AS at FROM {waiting} INDEXED BY {waiting_due}
          WHERE state = 0 AND priority >= 0 AND ordering_key IS NULL
          UNION ALL
          SELECT min(available_at) FROM {waiting} INDEXED BY {waiting_low}
          WHERE state = 0 AND priority < 0 AND ordering_key IS NULL
          UNION ALL
          SELECT min(available_at) FROM {waiting} INDEXED BY {waiting_turn}
          WHERE state = 0 AND behind = 0 AND ordering_key IS NOT NULL
          UNION ALL
          SELECT min(locked_until) FROM {lease} INDEXED BY {lease_by_end}))";

constexpr std::string_view blocking = R"(seq IN (
    SELECT b.seq FROM {waiting} AS b
    WHERE b.ordering_key IS NOT NULL AND b.frees_key = 0 AND (b.state = 3 OR b.retry_count > 0)
      AND NOT EXISTS (SELECT 1 FROM {waiting} AS e
                      WHERE e.ordering_key = b.ordering_key AND e.frees_key = 0 AND e.seq < b.seq)
      AND EXISTS (SELECT 1 FROM {waiting} AS n
                  WHERE n.ordering_key = b.ordering_key AND n.frees_key = 0 AND n.state = 0 AND n.seq > b.seq)))";

}  // namespace

sql::QueueTexts queue_texts(Queue queue) {
    const bool outbox = queue == Queue::outbox;
    return {.claim = claim_text(queue),
            .ack = {},
            .ack_run = outbox ? outbox_ack(AckForm::run, false) : inbox_ack(AckForm::run),
            .ack_run_kept = outbox ? outbox_ack(AckForm::run, true) : inbox_ack(AckForm::run),
            .ack_one = outbox ? outbox_ack(AckForm::one, false) : inbox_ack(AckForm::one),
            .ack_one_kept = outbox ? outbox_ack(AckForm::one, true) : inbox_ack(AckForm::one),
            .retry = retry(queue),
            .fail = fail(queue),
            .extend = extend(),
            .reap = reap_text(),
            .redrive = redrive(queue),
            .hold = hold(),
            .purge = outbox ? outbox_purge() : inbox_purge(),
            .counts = counts(queue),
            .claimable_in = {.statements = {"BEGIN IMMEDIATE", "COMMIT", weave(claimable_in)},
                             .separate = true},
            .find = {std::string("SELECT ").append(sql::message_columns).append(" FROM {view}")},
            .blocking = std::string(blocking)};
}

}  // namespace postroom::sqlite
