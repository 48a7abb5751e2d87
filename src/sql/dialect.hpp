// Dialect: everything the one SQL store needs to know about a database, as data.
//
// A dialect is a set of SQL texts, one unit for each verb, with agreed parameters and result
// columns. The store binds parameters by name and reads columns by position, so a unit may be one
// function call on a database that has functions and five statements on one that has not. Times are
// the database's; durations come in as microseconds (`*_us`). Integers stand for booleans.
//
// Texts use {tokens} for names, lists of fields and phrases (expander.hpp) and :names for
// parameters (statement.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/transaction.hpp"
#include "sql/expander.hpp"
#include "sql/migration.hpp"
#include "sql/search.hpp"
#include "sql/statement.hpp"
#include "sql/value.hpp"

namespace postroom {
class SqlWords;
}

namespace postroom::sql {

// The text of a unit: its statements in order.
struct UnitText {
    std::vector<std::string> statements;
    bool separate = false;
    std::vector<Skip> skips{};  // by position; may end early
    Traits traits{};            // of each of them
    // The values of one row, parentheses included, that stand where the text has {rows}.
    std::string row{};
};

// The ways to ack. A backend offers those in which its engine is good, `group` or `one` at least;
// AckPlan (ack_plan.hpp) picks among them.
//
// They do the same. Outbox: removes the messages whose lease stands and keeps them as history if
// asked. Inbox: marks their keys done. Parameters: :lease_id, :owner, :owner_text (its canonical
// form), :keep_history, :relaxed (0/1), and those of the way. Rows: seq, or NULL for all of them.
struct AckTexts {
    // A way with a text of its own for a history that is kept.
    struct Way {
        UnitText plain{};
        UnitText kept{};
    };

    // The messages of one lease: :seqs, :nonces (integer arrays, same length).
    UnitText group{};
    // Messages of several leases of one owner at once, without :lease_id: :rows (text: a JSON array
    // of [seq, nonce, lease_id] in the order of seq, none twice).
    UnitText rows{};
    // For engines to which arrays are dear; without `group`. Messages of one lease with numbers
    // without a gap: :first, :last, :nonces (RowRun in lease_groups.hpp).
    Way run{};
    // One message: :seq, :nonce. With `group` for a message that comes alone.
    Way one{};
};

// What a purge met at the end of its batch. A day of history that went whole may have had fewer
// messages than the batch has room for, and more such days may be left.
enum class PurgeEnd : std::int64_t { batch_done = 0, busy = 1, day_dropped = 2 };

// The verbs that both queues share; expanded once for each queue.
//
// A "message row" has the columns of message_row.hpp, in that order.
struct QueueTexts {
    // :owner uuid, :lease_id, :lease_us, :batch, :bytes, :bytes_of_one, and the ceilings of the
    // passes of queue/claim_passes.hpp: :urgent_to, :keyed_to, :due_to, :low_to, :keyed_again_to
    // Leases up to :batch messages that are ready and due, taking over expired leases on the way
    // (lost_count + 1), pass by pass. Of messages with an ordering key, which wait by their time
    // whatever their priority, only the first of its key, and only while none of the key is leased.
    // Rows, of any statement and in any order: message rows of what was leased. Where a driver has
    // all rows in memory before the first is seen, payload and headers are NULL of those that would
    // go beyond :bytes in all (the first, in order of seq: beyond :bytes_of_one), and how many they
    // take stands behind such a row.
    UnitText claim;

    // :lease_id. Rows: seq and nonce of the messages that a claim has leased.
    UnitText held{
        .statements = {"SELECT l.seq, COALESCE((SELECT m.nonce FROM {live} m WHERE m.seq = l.seq), "
                       "(SELECT m.nonce FROM {waiting} m WHERE m.seq = l.seq)) "
                       "FROM {lease} l WHERE l.lease_id = :lease_id ORDER BY l.seq"}};

    AckTexts ack;

    // :seq, :nonce, :lease_id, :error (NULL: leave), :delay_us, :count_attempt (0/1), :max_attempts
    // (0: none), :frees_key (0/1), :attempt (NULL: none; else a JSON object that is put, with the
    // time as "at" in microseconds, at the end of `attempts`, of which {attempts_kept} stay).
    // Releases the message into waiting, available after the delay but
    // no later than it expires, last_error set; with count_attempt the retry_count rises, and when
    // it reaches the message's own max_attempts (or, where it has none, the given one) the message
    // is dead with reason 'max_attempts', and with frees_key no longer in the way of others of its
    // ordering key. A message that dies has died_at set. Rows: seq, state.
    UnitText retry;

    // :seq, :nonce, :lease_id, :error (NULL: leave), :reason (text), :frees_key, :attempt. Dead;
    // the retry_count rises with an attempt. Rows: seq.
    UnitText fail;

    // :seqs, :nonces, :lease_id, :owner, :lease_us. Prolongs; a row born leased gets an ordinary
    // lease. Rows: seq.
    UnitText extend;

    // :limit. Takes expired leases back, lost_count + 1. Rows: one, how many.
    UnitText reap;

    // :seqs, :nonces. Dead ones become ready: retry_count, lost_count 0, dead_reason and last_error
    // cleared, available now, members of their ordering key again. Inbox: the key's state too.
    // Rows: one, how many.
    UnitText redrive;

    // :seqs, :nonces. Those that are ready, not leased, and available later than now and than their
    // due time are available at the later of these two. Rows: one, how many.
    UnitText retry_now;

    // :seq, :nonce. Rows: the attempts of a message that is not done, if it has some.
    std::string attempts =
        "SELECT attempts FROM {waiting} WHERE seq = :seq AND nonce = :nonce AND attempts IS NOT "
        "NULL";

    // :seqs, :nonces, :owner, :lease_id, :lease_us
    // Leases these messages, dead or ready, of which nobody holds a lease that stands; what
    // somebody has locked at this moment is left out. Rows: seq.
    UnitText hold;

    // :older_us, :window_us (of idempotency keys), :batch
    // One batch, under a lock of its own; never waits for another purger. Rows: how many went
    // (several rows add up), and a PurgeEnd.
    UnitText purge;

    // :old_attempts
    // Rows: one: ready, in_progress, dead, seen, retrying, oldest (time or NULL), 1 if the numbers
    // are estimates, old failures. Fresh messages are counted up to {counted_max}, from the lowest
    // number on; what lies above the last one counted is taken for one message a number. Of more
    // than that which wait, some may stand for all; so may dead ones, of which fewer are always
    // counted.
    UnitText counts;

    // See Doorbell::forecast(). Rows: one, microseconds, 0 when something may be claimable now,
    // NULL for none. Where many stores are watched without a connection; no statements: not known.
    UnitText claimable_in{};

    // What there is to find, over every state (search.hpp). Several parts where the engine would
    // copy, or scan, a union before it searches it: each is asked by itself.
    std::vector<FindText> find;
    // The tables of messages with a number, to go through them bit by bit. None: they are searched
    // at once.
    std::vector<NumbersText> numbers{};

    // A condition for find: the message is the first of its ordering key, dead or failed before,
    // and there are later ones that are not dead.
    std::string blocking;
    // The condition `blocking` for the single key :ordering_key, where its messages have an index
    // that `find` would not use by itself. Empty: there is no need for it.
    std::string blocking_of_key{};
};

// An INSERT of one row, and of many with an array for each parameter. Rows in their order.
struct InsertTexts {
    UnitText one;
    UnitText many;
};

struct OutboxTexts {
    // As QueueTexts::attempts, of a message that is done.
    std::string done_attempts =
        "SELECT attempts FROM {done} WHERE seq = :seq AND nonce = :nonce AND attempts IS NOT NULL";

    // One message that needs nothing special: the fields of in_enqueue, each under its name, and
    // :born_owner, :born_lease_id and :born_us, all NULL unless the row is leased from birth. No
    // ordering key. Rows: seq, and 1 if the row was certainly written at the top level of the
    // transaction.
    UnitText insert;

    // Many messages that need nothing special, at once: each parameter but :born_* is an array
    // (max_attempts: 0 stands for NULL). Rows as for insert and :nonce behind them, in the order of
    // the arrays. No statements: the engine has no such thing, insert is repeated.
    UnitText insert_many;

    // insert_many for an engine without arrays of texts: :messages, :payloads (packed_rows.hpp) and
    // :born_*. No statements: the engine has insert_many, or insert is repeated.
    UnitText insert_packed{};

    // insert and insert_many for messages with nothing but a topic and a payload, and bare_born for
    // those of them that are leased from birth: :nonce, :message_id, :topic, :payload. No
    // statements: the engine gains nothing by fewer columns; insert and insert_many are used.
    InsertTexts bare{};
    InsertTexts bare_born{};

    // One message with an idempotency key, a due time, an ordering key or a low priority. As insert
    // (without :born_*), and :key (NULL: none), :due_time (NULL: none). The key is taken first. If
    // it is taken already: nothing is written. A message due in the future, with an ordering key or
    // of low priority goes to waiting. Rows: seq, nonce, message_id, already_existed.
    UnitText enqueue;

    // :tenant_id, :key. Rows: seq, nonce, message_id of the message that has this key.
    std::string find_key =
        "SELECT seq, nonce, message_id FROM {key} "
        "WHERE tenant_id = :tenant_id AND idempotency_key = :key AND seq <> 0";

    // :message_id. Rows: seq, nonce of the messages that have it as their idempotency key too, in
    // the order of tenants, from one of which to the next the primary key leads: it begins with the
    // tenant, and another index is one more that every enqueue with a key would pay for.
    std::string keyed =
        "WITH RECURSIVE tenants (tenant_id) AS (SELECT MIN(k.tenant_id) FROM {key} k UNION ALL "
        "SELECT (SELECT MIN(k.tenant_id) FROM {key} k WHERE k.tenant_id > t.tenant_id) "
        "FROM tenants t WHERE t.tenant_id IS NOT NULL) "
        "SELECT k.seq, k.nonce FROM tenants t JOIN {key} k ON k.tenant_id = t.tenant_id "
        "AND k.idempotency_key = :message_id WHERE k.message_id = :message_id AND k.seq <> 0";

    // One message by the routine that is for other languages, which a role may call that has no
    // right but to write. Parameters as for enqueue. Rows: the work-item id, already_existed (NULL:
    // the routine does not tell). No statements: the engine has no such roles.
    UnitText as_writer{};

    // One statement that does what insert does, without its rows: for any driver. None: insert is
    // such a one.
    UnitText statement{};
};

// The topics that are paused, in the names of the outbox.
struct PauseTexts {
    // Rows: topic, since when.
    std::string list = "SELECT topic, paused_at FROM {paused} ORDER BY topic";
    // :topic. Nothing happens when it is there already.
    std::string pause{};
    // :topic
    std::string resume = "DELETE FROM {paused} WHERE topic = :topic";
};

// What operators read, in the names of the outbox.
struct RecordTexts {
    // :owner, :queue. A dispatcher has stopped.
    std::string forget_worker = "DELETE FROM {worker} WHERE owner = :owner AND queue = :queue";
    // :long_ago. Those who stopped without a word. Comes before a report in its transaction, which
    // holds nothing yet that another reporter could wait for.
    std::string forget_silent = "DELETE FROM {worker} WHERE last_seen < :long_ago";
    // :owner, :queue, :report (a JSON object), behind forget_worker.
    std::string report_worker =
        "INSERT INTO {worker} (owner, queue, report) VALUES (:owner, :queue, :report)";
    // Behind the report of one that has nothing to do, by itself: leaves the database as it can
    // stay. No statements: there is nothing to it.
    UnitText come_to_rest{};
    // Rows: owner, queue, last_seen, report.
    std::string workers = "SELECT owner, queue, last_seen, report FROM {worker}";

    // :who, :what, :target, :affected, :outcome
    std::string record_audit =
        "INSERT INTO {audit} (who, what, target, affected, outcome) "
        "VALUES (:who, :what, :target, :affected, :outcome)";
    // :before_id; paged by id, highest first. Rows: id, recorded_at and the parameters above.
    std::string audit_log =
        "SELECT id, recorded_at, who, what, target, affected, outcome FROM {audit} "
        "WHERE id < :before_id";
};

// Where the store lives and which life of it this is, in the names of the outbox: one row.
struct RestoreTexts {
    // A value: where the database is, as marks on a line each; none where the backend tells.
    std::string here = "''";
    // Behind `here`. Rows: as restore_guard.cpp reads them.
    std::string look =
        "incarnation, epoch, place, held_since, held_why, decision, decided_at, decided_by "
        "FROM {home}";
    // False on a standby, which may be behind and says nothing about its primary: nobody claims
    // there.
    std::string can_write = "1 = 1";
    // :fresh, :place. The first worker gives it a name.
    std::string adopt =
        "UPDATE {home} SET incarnation = :fresh, place = :place, epoch = 1 WHERE incarnation = ''";
    // :incarnation, :place
    std::string raise =
        "UPDATE {home} SET epoch = epoch + 1, place = :place "
        "WHERE incarnation = :incarnation AND held_since IS NULL";
    // :incarnation, :why, :now
    std::string hold =
        "UPDATE {home} SET held_since = :now, held_why = :why "
        "WHERE incarnation = :incarnation AND held_since IS NULL";
    // :incarnation, :fresh, :place, :decision, :who, :now
    std::string end_hold =
        "UPDATE {home} SET incarnation = :fresh, place = :place, epoch = epoch + 1, "
        "held_since = NULL, held_why = NULL, decision = :decision, decided_at = :now, "
        "decided_by = :who WHERE incarnation = :incarnation";
};

// One look at the health of the database.
struct HealthCheckText {
    std::string name;
    // Rows: ok, warning or bad; a sentence. No row: nothing to say. With `unwanted`: the rows of an
    // EXPLAIN, and it is a warning when one has that in it.
    std::string text;
    std::string unwanted{};
    std::string before{};  // a statement to run first, in the same transaction
};

struct InboxTexts {
    // :message_id. Rows: seq, nonce of the messages that have it and content in the queue.
    std::string keyed =
        "SELECT seq, nonce FROM {key} WHERE message_id = :message_id AND seq IS NOT NULL";

    // :nonce, :source, :message_id, :topic, :payload, :hash, :content_type, :headers,
    // :ordering_key, :due_time, :expires_at, :priority, :max_attempts, :revive. See Store::receive.
    // Rows: seq (NULL: done before), nonce, previous state (NULL: unknown), hash_mismatch.
    UnitText receive;

    // Many received messages at once: :rows (text, see received_rows.hpp), :nonces (integer array,
    // in the order of the rows), :revive. Rows as for receive, in any order, and the nonce that was
    // given. No statements: receive is repeated.
    UnitText receive_many{};

    // :source, :message_id, :hash. See Store::see. Rows: previous state (NULL: unknown),
    // hash_mismatch.
    UnitText see;

    // :source, :message_id, :state, :error. See Store::mark. Rows: previous state; none: no such
    // message.
    UnitText mark;
};

struct Dialect {
    std::string name;  // of the engine, for error texts
    Placeholder placeholder = Placeholder::dollar;
    Vocabulary vocabulary;

    QueueTexts outbox_queue;
    QueueTexts inbox_queue;
    OutboxTexts outbox;
    InboxTexts inbox;
    PauseTexts pause{};
    RecordTexts records{};
    RestoreTexts restore{};
    std::vector<HealthCheckText> health_checks{};

    std::string now;  // one statement; rows: one, the time

    // How statements over tables of any shape are spelled (queue/sql_access.hpp).
    const SqlWords* words = nullptr;

    // A value in a form that any driver can bind: for statements that run through a caller's
    // TxContext.
    SqlValue (*render)(const Value& value) = nullptr;

    // A condition "column in array parameter": {column} and {param} are replaced, e.g.
    // "{column} = ANY (:{param}::bigint[])".
    std::string in_array;
    // A condition "the text parameter is a part of the column", to the byte: what LIKE says hangs
    // on engine and collation, and two texts that differ in spaces may be equal.
    std::string contains = "LENGTH(REPLACE({column}, :{param}, '')) < LENGTH({column})";

    // Conditions "the column equals the text parameter" and "the text in the column is empty", to
    // the byte: where blanks at the end of a text do not count, the engine has to be told.
    std::string equals = "{column} = :{param}";
    std::string empty = "{column} = ''";
    std::string payload_bytes = "LENGTH(payload)";  // how many bytes the payload has

    Paged paged = nullptr;  // see search.hpp

    // Schema: the tables, by numbered files that are only ever added to, and the routines and
    // views over them, replaced as a whole when their text has changed. See migration.hpp. The
    // texts run under `migration_lock`.
    std::span<const EmbeddedMigration> schema;
    std::span<const EmbeddedRoutines> routines{};
    // Run for a queue before its routines are created, and after: clears away what would be in
    // their way, and those that are no more.
    std::string before_routines{};
    std::string after_routines{};
    std::string
        migration_table;  // CREATE ... IF NOT EXISTS of {schema}, migration and object tables
    // Makes others wait until the connection closes or its transaction ends; may be empty. Rows:
    // none, or one with 0 when the lock was not to be had.
    std::string migration_lock;
    // Rows: object, definition; everything the migrations made, in order of object.
    std::string catalog;
};

}  // namespace postroom::sql
