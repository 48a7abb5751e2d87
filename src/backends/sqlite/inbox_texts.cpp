// Writing to the inbox.
//
// A message that nobody has heard of is queued and noted at once. Else the first statement of a
// unit changes the key and notes in it what it found (previous, mismatch); the following ones act
// on the queued content, and the last one reads the notes back. Leases neither come nor go while
// the unit runs, so "leased" means the same in all of them. A lease that has run out counts as long
// as nobody took it back: its holder may still settle.
#include <array>
#include <string>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/steps.hpp"
#include "backends/sqlite/vocabulary.hpp"

namespace postroom::sqlite {

namespace {

constexpr const char* note_received = R"(INSERT INTO {key} AS k
               (source, message_id, state, topic, hash, first_seen, last_seen)
           VALUES (:source, :message_id, 0, :topic, :hash, {now}, {now})
           ON CONFLICT (source, message_id) DO UPDATE SET last_seen = {now},
               mismatch = coalesce(k.hash <> :hash, 0), previous = {found_state},
               hash = iif({fixed}, coalesce(k.hash, :hash), coalesce(:hash, k.hash)),
               topic = iif({fixed}, k.topic, :topic),
               state = CASE WHEN k.state = 3 AND :revive <> 0 THEN 0 WHEN k.state = 4 THEN 0 ELSE k.state END,
               last_error = iif(k.state = 3 AND :revive <> 0, NULL, k.last_error)
           WHERE k.nonce IS NOT :nonce)";

// New content for a message that waits, which keeps its number and nonce. A dead one stays dead
// unless revived.
std::string renew_waiting() {
    constexpr std::array its_own{FieldText{"nonce", "m.nonce"}};
    return "UPDATE {waiting} AS m SET ({columns:receive}) = (SELECT " +
           fields_with(in_receive, ":", its_own) + R"(),
           available_at = iif(m.state = 3 AND :revive = 0, m.available_at, {available_again}),
           frees_key = iif(m.state = 3 AND :revive = 0 AND :ordering_key IS NOT NULL, m.frees_key, 0),
           state = iif(m.state = 3 AND :revive = 0, 3, 0),
           dead_reason = iif(:revive = 0, m.dead_reason, NULL),
           retry_count = iif(m.state = 3 AND :revive <> 0, 0, m.retry_count),
           lost_count = iif(m.state = 3 AND :revive <> 0, 0, m.lost_count),
           last_error = iif(m.state = 3 AND :revive <> 0, NULL, m.last_error)
       WHERE {keyed} AND {free})";
}

// New content for a live one: rows there are never changed, so it moves.
std::string renew_live() {
    const std::string renewed = sql::field_list(in_live, [](const Field& field) {
        const bool given = field.is_in(in_receive) && field.name != "nonce";
        return std::string(given ? ":" : "m.").append(field.name);
    });
    return "INSERT INTO {waiting} ({columns:live}, available_at) SELECT " + renewed +
           R"(, {available_again}
       FROM {live} AS m
       WHERE {keyed} AND m.nonce <> :nonce AND {free})";
}

constexpr const char* remove_renewed = R"(DELETE FROM {live} AS m
       WHERE {keyed} AND EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = m.seq AND w.nonce = m.nonce))";

// A message that is not queued yet gets its number from {live}, and moves on if it has no place
// there.
constexpr const char* queue_new = R"(INSERT INTO {live} ({columns:receive}, created_at)
       SELECT {numbered}, {now}
       FROM {key} AS k
       WHERE k.source = :source AND k.message_id = :message_id AND k.seq IS NULL AND k.state <> 2)";

constexpr const char* defer_new =
    R"(INSERT INTO {waiting} ({columns:live}, available_at, state, dead_reason, last_error, died_at)
       SELECT {scheduled}, {available_new}, state, iif(state = 3, 'failed', NULL),
              iif(state = 3, last_error, NULL), iif(state = 3, {now}, NULL)
       FROM (SELECT * FROM {live} WHERE seq = last_insert_rowid() AND nonce = :nonce)
       CROSS JOIN (SELECT state, last_error FROM {key} WHERE {this_key})
       WHERE :priority < 0 OR :ordering_key IS NOT NULL OR (:due_time IS NOT NULL AND due_time IS NULL) OR state = 3)";

constexpr const char* remove_deferred = R"(DELETE FROM {live}
       WHERE seq = last_insert_rowid() AND nonce = :nonce
         AND EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = last_insert_rowid() AND w.nonce = :nonce))";

constexpr const char* note_queued = R"(UPDATE {key} SET seq = last_insert_rowid(), nonce = :nonce
       WHERE {this_key} AND seq IS NULL AND state <> 2)";

// The rule: nobody has heard of the message, and it is to be delivered at once. It is numbered
// first, so that its key is written once. What follows finds that it has nothing to do: a key with
// :nonce was made by this call.
//
// Where the rule does not hold, a NULL that is not allowed keeps the row out. An INSERT .. SELECT
// with a condition would do the same, but SQLite keeps copies of all pages that it changes: it
// might write more than one row and then fail.
std::string queue_unknown() {
    constexpr std::array replaced{
        FieldText{"nonce",
                  "iif(:priority >= 0 AND :ordering_key IS NULL AND :due_time IS NULL "
                  "AND NOT EXISTS (SELECT 1 FROM {key} WHERE {this_key}), :nonce, NULL)"},
        FieldText{"ordering_key", "NULL"},
        FieldText{"due_time", "NULL"},
    };
    return "INSERT OR IGNORE INTO {live} ({columns:receive}, created_at) VALUES (" +
           fields_with(in_receive, ":", replaced) + ", {now})";
}

constexpr const char* note_unknown = R"(INSERT OR IGNORE INTO {key}
           (state, source, message_id, topic, hash, first_seen, last_seen, seq, nonce)
       VALUES (iif(changes() > 0, 0, NULL), :source, :message_id, :topic, :hash, {now}, {now},
               last_insert_rowid(), :nonce))";

sql::UnitText receive() {
    Steps steps;
    const std::size_t queued = steps.add(queue_unknown());
    const std::size_t noted = steps.add_after({queued}, note_unknown);
    steps.add_after({noted}, "SELECT last_insert_rowid(), :nonce, NULL, 0 WHERE changes() > 0");
    for (const std::string& text :
         {std::string(note_received), renew_waiting(), renew_live(), std::string(remove_renewed),
          std::string(queue_new), std::string(defer_new), std::string(remove_deferred),
          std::string(note_queued)})
        steps.add_unless(queued, text);
    steps.add_unless(noted, "SELECT seq, nonce, previous, mismatch FROM {key} WHERE {this_key}");
    return steps.unit();
}

sql::UnitText see() {
    return {.statements = {
                R"(INSERT INTO {key} AS k (source, message_id, state, hash, first_seen, last_seen)
           VALUES (:source, :message_id, 4, :hash, {now}, {now})
           ON CONFLICT (source, message_id) DO UPDATE SET last_seen = {now},
               mismatch = coalesce(k.hash <> :hash, 0), hash = coalesce(k.hash, :hash),
               previous = {found_state})",
                "SELECT previous, mismatch FROM {key} WHERE {this_key}"}};
}

// A key that was done keeps everything; having no content, it is not touched by the other
// statements.
sql::UnitText mark() {
    return {
        .statements = {
            R"(UPDATE {key} AS k SET previous = {found_state},
               state = iif(k.state = 2, 2, :state),
               processed_at = iif(k.state <> 2 AND :state = 2, {now}, k.processed_at),
               retry_count = iif(k.state <> 2 AND :state = 2, coalesce((SELECT w.retry_count FROM {waiting} AS w
                                                                        WHERE w.seq = k.seq AND w.nonce = k.nonce), 0),
                                 k.retry_count),
               last_error = CASE WHEN k.state = 2 OR :state = 0 OR (:state = 2 AND k.seq IS NULL) THEN k.last_error
                                 WHEN :state = 3 THEN :error
                                 ELSE (SELECT w.last_error FROM {waiting} AS w
                                       WHERE w.seq = k.seq AND w.nonce = k.nonce) END
           WHERE {this_key})",
            R"(UPDATE {waiting} AS m
           SET state = :state, dead_reason = iif(:state = 3, 'failed', NULL),
               frees_key = iif(:state = 3, m.frees_key, 0),
               last_error = iif(:state = 3, coalesce(:error, m.last_error), m.last_error),
               died_at = iif(:state = 3, {now}, NULL), available_at = iif(:state = 0, {now}, m.available_at)
           WHERE :state IN (0, 3) AND {keyed})",
            // A live message that nobody holds is ready already.
            R"(INSERT INTO {waiting} ({columns:live}, state, dead_reason, last_error, died_at, available_at)
           SELECT {columns:live}, :state, iif(:state = 3, 'failed', NULL), iif(:state = 3, :error, NULL),
                  iif(:state = 3, {now}, NULL),
                  iif(:state = 0, {now}, coalesce(due_time, created_at))
           FROM {live} AS m
           WHERE (:state = 3 OR (:state = 0 AND NOT {free})) AND {keyed})",
            R"(DELETE FROM {live} AS m
           WHERE {keyed}
             AND (:state = 2 OR EXISTS (SELECT 1 FROM {waiting} AS w WHERE w.seq = m.seq AND w.nonce = m.nonce)))",
            "DELETE FROM {waiting} AS m WHERE :state = 2 AND {keyed}",
            "DELETE FROM {lease} WHERE seq = (SELECT seq FROM {key} WHERE {this_key})",
            "UPDATE {key} SET seq = NULL, nonce = NULL WHERE {this_key} AND state = 2",
            "SELECT previous FROM {key} WHERE {this_key}",
        }};
}

}  // namespace

sql::InboxTexts inbox_texts() { return {.receive = receive(), .see = see(), .mark = mark()}; }

}  // namespace postroom::sqlite
