// The verbs that both queues share, but for claim, reap and ack.
#include <string>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/steps.hpp"

namespace postroom::sqlite {

namespace {

// Retry and fail: `waiting` changes a message that waits, `live` moves one that is live. At their
// end it waits, and nobody holds it any more.
sql::UnitText release(Queue queue, std::string_view waiting, std::string_view live) {
    Steps steps;
    const std::size_t changed = steps.add(waiting);
    const std::size_t moved = steps.add_unless(changed, live);
    steps.add_after({moved}, R"(DELETE FROM {live} AS m
           WHERE {this} AND EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = :seq AND w.nonce = :nonce))");
    if (queue == Queue::inbox) {
        steps.add_after({changed, moved}, R"(UPDATE {key} SET state = m.state
           FROM {waiting} AS m
           WHERE {this} AND {held} AND {key}.source = m.source AND {key}.message_id = m.message_id)");
    }
    steps.add_after({changed, moved}, R"(DELETE FROM {lease}
           WHERE seq = :seq AND lease_id = :lease_id
             AND EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = :seq AND w.nonce = :nonce))");
    return steps.unit();
}

// The comparison is NULL, and so not true, where there is no limit.
sql::UnitText retry(Queue queue) {
    return release(queue,
                   R"(UPDATE {waiting} AS m
            SET (state, dead_reason, died_at, attempts, available_at, retry_count, last_error, frees_key) = (
                SELECT iif(dead, 3, 0), iif(dead, 'max_attempts', NULL), iif(dead, {now}, NULL), {more_attempts},
                       iif(dead, m.available_at, min({now} + :delay_us, coalesce(m.expires_at, {now} + :delay_us))),
                       m.retry_count + :count_attempt, coalesce(:error, m.last_error),
                       iif(dead AND :frees_key <> 0 AND m.ordering_key IS NOT NULL, 1, 0)
                FROM (SELECT :count_attempt <> 0
                          AND m.retry_count + 1 >= coalesce(m.max_attempts, nullif(:max_attempts, 0)) AS dead))
            WHERE {this} AND {held}
            RETURNING seq, state)",
                   R"(INSERT INTO {waiting}
                ({columns:live}, state, dead_reason, died_at, attempts, available_at, retry_count, last_error)
            SELECT {columns:live}, iif(dead, 3, 0), iif(dead, 'max_attempts', NULL), iif(dead, {now}, NULL),
                   {first_attempts},
                   iif(dead, coalesce(due_time, created_at),
                       min({now} + :delay_us, coalesce(expires_at, {now} + :delay_us))), :count_attempt, :error
            FROM (SELECT m.*, :count_attempt <> 0 AND 1 >= coalesce(m.max_attempts, nullif(:max_attempts, 0)) AS dead
                  FROM {live} AS m
                  WHERE {this} AND {held_live})
            RETURNING seq, state)");
}

sql::UnitText fail(Queue queue) {
    return release(queue,
                   R"(UPDATE {waiting} AS m
            SET state = 3, dead_reason = :reason, last_error = coalesce(:error, m.last_error),
                frees_key = iif(:frees_key <> 0 AND m.ordering_key IS NOT NULL, 1, 0), died_at = {now},
                attempts = {more_attempts}, retry_count = m.retry_count + (:attempt IS NOT NULL)
            WHERE {this} AND {held}
            RETURNING seq)",
                   R"(INSERT INTO {waiting}
                ({columns:live}, state, dead_reason, available_at, last_error, died_at, attempts, retry_count)
            SELECT {columns:live}, 3, :reason, coalesce(due_time, created_at), :error, {now}, {first_attempts},
                   :attempt IS NOT NULL
            FROM {live} AS m
            WHERE {this} AND {held_live}
            RETURNING seq)");
}

sql::UnitText extend() {
    return {.statements = {
                R"(UPDATE {lease} AS held SET locked_until = {now} + :lease_us
           WHERE held.seq IN (SELECT value FROM json_each(:seqs)) AND held.lease_id = :lease_id
             AND (EXISTS (SELECT 1 FROM {live} AS m
                          WHERE m.seq = held.seq AND m.nonce IN (SELECT value FROM json_each(:nonces)))
                  OR EXISTS (SELECT 1 FROM {waiting} AS m
                             WHERE m.seq = held.seq AND m.nonce IN (SELECT value FROM json_each(:nonces))))
           RETURNING seq)",
                R"(INSERT INTO {lease} (seq, lease_id, locked_until, owner)
           SELECT m.seq, m.lease_id, {now} + :lease_us, :owner
           FROM {live} AS m
           WHERE {these} AND m.lease_id = :lease_id AND {free}
           RETURNING seq)",
            }};
}

sql::UnitText redrive(Queue queue) {
    sql::UnitText unit;
    if (queue == Queue::inbox) {
        unit.statements.emplace_back(R"(UPDATE {key} SET state = 0, last_error = NULL
           WHERE (source, message_id) IN (
               SELECT m.source, m.message_id FROM {waiting} AS m WHERE {these} AND m.state = 3))");
    }
    unit.statements.emplace_back(R"(UPDATE {waiting} AS m
           SET state = 0, dead_reason = NULL, last_error = NULL, retry_count = 0, lost_count = 0,
               available_at = {now}, frees_key = 0
           WHERE {these} AND m.state = 3)");
    unit.statements.emplace_back("SELECT changes()");
    return unit;
}

sql::UnitText retry_now() {
    return {.statements = {
                R"(UPDATE {waiting} AS m SET available_at = max({now}, coalesce(m.due_time, {now}))
           WHERE {these} AND m.state = 0 AND m.available_at > max({now}, coalesce(m.due_time, {now}))
             AND NOT EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = m.seq AND l.locked_until > {now}))",
                "SELECT changes()"}};
}

sql::UnitText hold() {
    const auto lease = [](const std::string& from) {
        return "INSERT INTO {lease} (seq, lease_id, locked_until, owner) "
               "SELECT m.seq, :lease_id, {now} + :lease_us, :owner FROM " +
               from + " AND {these} AND {free} RETURNING seq";
    };
    return {.statements = {"DELETE FROM {lease} WHERE seq IN (SELECT value FROM json_each(:seqs)) "
                           "AND locked_until <= {now}",
                           lease("{live} AS m WHERE coalesce(m.born_until, 0) <= {now}"),
                           lease("{waiting} AS m WHERE true")}};
}

sql::UnitText outbox_purge() {
    return {.statements = {
                R"(DELETE FROM {done}
           WHERE seq IN (SELECT seq FROM {done} INDEXED BY {done_by_time}
                         WHERE processed_at <= {now} - :older_us ORDER BY processed_at LIMIT :batch))",
                "SELECT changes(), 0",
                R"(DELETE FROM {key}
           WHERE (tenant_id, idempotency_key) IN (
               SELECT tenant_id, idempotency_key FROM {key} INDEXED BY {key_by_time}
               WHERE created_at <= {now} - :window_us ORDER BY created_at LIMIT :batch))",
                "SELECT changes(), 0",
            }};
}

sql::UnitText inbox_purge() {
    return {.statements = {
                R"(DELETE FROM {key}
           WHERE (source, message_id) IN (
               SELECT source, message_id FROM {key} INDEXED BY {key_done}
               WHERE state = 2 AND last_seen <= {now} - :older_us ORDER BY last_seen LIMIT :batch))",
                "SELECT changes(), 0",
            }};
}

// Writers take turns, so the oldest message is the one with the lowest number; in the inbox a
// message may have been heard of long before it was queued.
constexpr const char* outbox_counts = R"(
               (SELECT count(*) FROM {waiting} INDEXED BY {waiting_dead} WHERE state = 3) AS dead, 0 AS seen,
               (SELECT min(created_at) FROM (
                    SELECT * FROM (SELECT created_at FROM {live} ORDER BY seq LIMIT 1)
                    UNION ALL
                    SELECT * FROM (SELECT created_at FROM {waiting} WHERE state = 0 ORDER BY seq LIMIT 1))) AS oldest)";
constexpr const char* inbox_counts = R"(
               (SELECT count(*) FROM {key} INDEXED BY {key_open} WHERE state <> 2 AND state = 3) AS dead,
               (SELECT count(*) FROM {key} INDEXED BY {key_open} WHERE state <> 2 AND state = 4) AS seen,
               (SELECT first_seen FROM {key} INDEXED BY {key_open}
                WHERE state <> 2 AND state = 0 AND seq IS NOT NULL ORDER BY first_seen LIMIT 1) AS oldest)";

sql::UnitText counts(const std::string& of_queue) {
    return {
        .statements = {
            R"(SELECT queued - in_progress, in_progress, dead, seen, retrying, oldest, estimated, old_failures FROM (
        SELECT n = {counted_max} AS estimated,
               n + iif(n = {counted_max}, (SELECT max(seq) FROM {live}) - last, 0)
                + (SELECT count(*) FROM {waiting} INDEXED BY {waiting_due}
                   WHERE state = 0 AND priority >= 0 AND ordering_key IS NULL)
                + (SELECT count(*) FROM {waiting} INDEXED BY {waiting_low}
                   WHERE state = 0 AND priority < 0 AND ordering_key IS NULL)
                + (SELECT count(*) FROM {waiting} INDEXED BY {waiting_line}
                   WHERE state = 0 AND frees_key = 0 AND ordering_key IS NOT NULL) AS queued,
               (SELECT count(*) FROM {lease} AS l INDEXED BY {lease_by_end}
                WHERE l.locked_until > {now}
                  AND (EXISTS (SELECT 1 FROM {live} AS m WHERE m.seq = l.seq)
                       OR EXISTS (SELECT 1 FROM {waiting} AS m WHERE m.seq = l.seq AND m.state = 0)))
                + (SELECT count(*) FROM {live} AS m INDEXED BY {live_born}
                   WHERE m.born_until > {now} AND {free}) AS in_progress,
               (SELECT count(*) FROM {waiting} AS m INDEXED BY {waiting_retrying}
                WHERE m.state = 0 AND m.retry_count > 0) AS retrying,
               (SELECT count(*) FROM {waiting} AS m INDEXED BY {waiting_retrying}
                WHERE m.state = 0 AND m.retry_count > 0 AND m.retry_count >= :old_attempts) AS old_failures,)" +
            of_queue + R"(
        FROM (SELECT count(*) AS n, max(seq) AS last FROM (SELECT seq FROM {live} ORDER BY seq LIMIT {counted_max}))))"}};
}

// Each of them is the first entry of an index. A live message is claimable, or leased to somebody
// who is at work: either way a claim is soon due. The answer has to stand until the file changes
// again, so a writer whose commit is on its way is waited for. One that begins later changes the
// file.
constexpr const char* claimable_in = R"(SELECT
    CASE WHEN EXISTS (SELECT 1 FROM {live}) THEN 0 ELSE max(0, min(at) - {now}) END
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

constexpr const char* blocking = R"(seq IN (
    SELECT b.seq FROM {waiting} AS b
    WHERE b.ordering_key IS NOT NULL AND b.frees_key = 0 AND (b.state = 3 OR b.retry_count > 0)
      AND NOT EXISTS (SELECT 1 FROM {waiting} AS e
                      WHERE e.ordering_key = b.ordering_key AND e.frees_key = 0 AND e.seq < b.seq)
      AND EXISTS (SELECT 1 FROM {waiting} AS n
                  WHERE n.ordering_key = b.ordering_key AND n.frees_key = 0 AND n.state = 0 AND n.seq > b.seq)))";

constexpr StateSet fresh_states{State::ready, State::in_progress};

// One table of messages, to be searched by the columns of the message row.
std::string part(const std::string& rows) { return "SELECT {columns:row} FROM (" + rows + ")"; }

std::vector<sql::FindText> find_texts(Queue queue) {
    const sql::FindText settled =
        queue == Queue::outbox ? sql::FindText(part("{settled}"), State::done).without_errors()
                               : sql::FindText(part("{settled}"), {}, sql::FindText::Numbers::none);
    return {sql::FindText(part("SELECT {row:live} FROM {live} AS m {with_key} {with_lease}"),
                          fresh_states)
                .fresh(),
            {part("SELECT {row:waiting} FROM {waiting} AS m {with_key} {with_lease}"), open_states},
            settled};
}

// A condition on seq here would be the one that SQLite begins its search with.
std::vector<sql::NumbersText> numbers(Queue queue) {
    std::vector<sql::NumbersText> tables{
        {sql::FindText("SELECT seq FROM {live} WHERE true", fresh_states).fresh()},
        {{"SELECT seq FROM {waiting} WHERE true", open_states}}};
    if (queue == Queue::outbox)
        tables.push_back(
            {sql::FindText("SELECT seq FROM {done} WHERE true", State::done).without_errors()});
    return tables;
}

}  // namespace

sql::QueueTexts queue_texts(Queue queue) {
    const bool outbox = queue == Queue::outbox;
    return {.claim = claim_text(queue),
            .ack = ack_texts(queue),
            .retry = retry(queue),
            .fail = fail(queue),
            .extend = extend(),
            .reap = reap_text(),
            .redrive = redrive(queue),
            .retry_now = retry_now(),
            .hold = hold(),
            .purge = outbox ? outbox_purge() : inbox_purge(),
            .counts = counts(outbox ? outbox_counts : inbox_counts),
            .claimable_in = {.statements = {"BEGIN IMMEDIATE", "COMMIT", claimable_in},
                             .separate = true},
            .find = find_texts(queue),
            .numbers = numbers(queue),
            .blocking = blocking};
}

}  // namespace postroom::sqlite
