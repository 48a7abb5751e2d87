// Dialect: everything the one SQL store needs to know about a database, as data.
//
// A dialect is a set of SQL texts, one unit for each verb, with agreed parameters and result
// columns. The store binds parameters by name and reads columns by position, so a unit may be one
// function call on a database that has functions and five statements on one that has not. Times are
// the database's; durations come in as microseconds (`*_us`). Integers stand for booleans.
//
// Texts use {tokens} for names (names.hpp) and :names for parameters (statement.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/transaction.hpp"
#include "sql/foreign_table.hpp"
#include "sql/migration.hpp"
#include "sql/names.hpp"
#include "sql/statement.hpp"
#include "sql/value.hpp"

namespace postroom::sql {

// The text of a unit: its statements in order.
struct UnitText {
    std::vector<std::string> statements;
    bool separate = false;
    std::vector<Skip> skips{};  // by position; may end early
};

// The verbs that both queues share; expanded once for each queue.
//
// A "message row" has the columns of message_row.hpp, in that order.
struct QueueTexts {
    // :owner uuid, :lease_id, :lease_us, :batch, :turn (0..7, counts the claims)
    // Leases up to :batch messages that are ready and due, taking over expired leases on the way
    // (lost_count + 1). Above-default priority goes first except when turn % 4 = 3; below-default
    // goes last except then. Due waiting messages and fresh ones share the batch, and turn / 4 says
    // which of them gets the odd place. Of messages with an ordering key, which wait by their time
    // whatever their priority, only the first of its key, and only while none of the key is leased.
    // Rows, of any statement and in any order: message rows of what was leased.
    UnitText claim;

    // :seqs, :nonces (integer arrays, same length), :lease_id, :owner, :keep_history
    // Outbox: removes the messages whose lease stands and keeps them as history if asked. Inbox:
    // marks their keys done. Rows: seq.
    UnitText ack;
    // For engines to which arrays are dear; then ack has no statements. The same for messages with
    // numbers without a gap, with :first, :last and :nonces in place of the arrays (RowRun in
    // lease_groups.hpp): not into the history, and into it. :owner_text is the canonical form of
    // :owner. Rows: seq, or NULL for all of them.
    UnitText ack_run{};
    UnitText ack_run_kept{};
    // The same for one message, with :seq and :nonce. Where ack has statements, for a message that
    // comes alone; no statements: ack is used for it too.
    UnitText ack_one{};
    UnitText ack_one_kept{};

    // The same for messages of several leases at once: :rows (text: a JSON array of [seq, nonce,
    // lease_id] in the order of seq, none twice), :owner, :keep_history. No statements: ack is used
    // for each lease.
    UnitText ack_rows{};

    // :seq, :nonce, :lease_id, :error (NULL: leave), :delay_us, :count_attempt (0/1), :max_attempts
    // (0: none), :frees_key (0/1) Releases the message into waiting, available after the delay but
    // no later than it expires, last_error set; with count_attempt the retry_count rises, and when
    // it reaches the message's own max_attempts (or, where it has none, the given one) the message
    // is dead with reason 'max_attempts', and with frees_key no longer in the way of others of its
    // ordering key. Rows: seq, state.
    UnitText retry;

    // :seq, :nonce, :lease_id, :error (NULL: leave), :reason (text), :frees_key. Dead. Rows: seq.
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

    // :seqs, :nonces, :owner, :lease_id, :lease_us
    // Leases these messages, dead or ready, of which nobody holds a lease that stands; what
    // somebody has locked at this moment is left out. Rows: seq.
    UnitText hold;

    // :older_us, :window_us (of idempotency keys), :batch
    // One batch, under a lock of its own; never waits for another purger. Rows: how many went
    // (several rows add up), 1 if another purger was at work.
    UnitText purge;

    // Rows: one: ready, in_progress, dead, seen, retrying, oldest (time or NULL).
    UnitText counts;

    // See Doorbell::forecast(). Rows: one, microseconds, 0 when something may be claimable now,
    // NULL for none. Where many stores are watched without a connection; no statements: not known.
    UnitText claimable_in{};

    // "SELECT <message row> FROM ..." without WHERE, over every state. The store appends conditions
    // on the columns seq, owner, message_id, source, topic, state, then ORDER BY seq LIMIT. Several
    // where the engine would copy a union before it searches it: each is asked by itself.
    std::vector<std::string> find;

    // A condition for find: the message is the first of its ordering key, dead or failed before,
    // and there are later ones that are not dead.
    std::string blocking;
};

// An INSERT of one row, and of many with an array for each parameter. Rows in their order.
struct InsertTexts {
    UnitText one;
    UnitText many;
};

struct OutboxTexts {
    // One message that needs nothing special. :nonce, :message_id, :topic, :payload, :content_type,
    // :headers (JSON text or NULL), :correlation_id, :tenant_id (text, may be empty),
    // :idempotency_key, :aggregate_type, :aggregate_id, :occurred_at, :expires_at, :priority (>=
    // 0), :ordering_key, :max_attempts; all may be NULL but nonce, message_id, topic, payload,
    // content_type, tenant_id, aggregate_type, priority. :born_owner, :born_lease_id, :born_us:
    // NULL, or the row is leased from birth. No ordering key. Rows: seq, and 1 if the row was
    // certainly written at the top level of the transaction.
    UnitText insert;

    // The same for many at once: each parameter but :born_* is an array (max_attempts: 0 stands for
    // NULL). Rows as for insert, in the order of the arrays. No statements: the engine has no such
    // thing, insert is repeated.
    UnitText insert_many;

    // The same for messages with nothing but a topic and a payload, and bare_born for those that
    // are leased from birth: :nonce, :message_id, :topic, :payload. No statements: the engine gains
    // nothing by fewer columns, the other ones are taken.
    InsertTexts bare{};
    InsertTexts bare_born{};

    // One message with an idempotency key, a due time, an ordering key or a low priority. As insert
    // (without :born_*), and :key (NULL: none), :due_time (NULL: none). The key is taken first. If
    // it is taken already: nothing is written. A message due in the future, with an ordering key or
    // of low priority goes to waiting. Rows: seq, nonce, message_id, already_existed.
    UnitText enqueue;

    // One statement that does what insert does, without its rows: for any driver. Empty: insert is
    // such a one.
    std::string statement{};
};

// The topics that are paused, in the names of the outbox.
struct PauseTexts {
    // Rows: topic, since when.
    std::string list = "SELECT topic, paused_at FROM {paused} ORDER BY topic";
    // :topic. Nothing happens when it is there already.
    std::string pause = "INSERT INTO {paused} (topic) VALUES (:topic) ON CONFLICT DO NOTHING";
    // :topic
    std::string resume = "DELETE FROM {paused} WHERE topic = :topic";
};

// One look at the health of the database.
struct ExamText {
    std::string check;
    // Rows: ok, warning or bad; a sentence. No row: nothing to say. With `unwanted`: the rows of an
    // EXPLAIN, and it is a warning when one has that in it.
    std::string text;
    std::string unwanted{};
    std::string before{};  // a statement to run first, in the same transaction
};

struct InboxTexts {
    // :nonce, :source, :message_id, :topic, :payload, :hash, :content_type, :headers,
    // :ordering_key, :due_time, :expires_at, :priority, :max_attempts, :revive. See Store::receive.
    // Rows: seq (NULL: done before), nonce, previous state (NULL: unknown), hash_mismatch.
    UnitText receive;

    // The same for many at once: :rows (text, see received_rows.hpp), :nonces (integer array, in
    // the order of the rows), :revive. Rows as for receive, in any order, and the nonce that was
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
    Qualify qualify;

    QueueTexts outbox_queue;
    QueueTexts inbox_queue;
    OutboxTexts outbox;
    InboxTexts inbox;
    PauseTexts pause{};
    ForeignTexts foreign{};
    std::vector<ExamText> exams{};

    std::string now;  // one statement; rows: one, the time

    // A value in a form that any driver can bind: for statements that run through a foreign
    // TxContext.
    SqlValue (*render)(const Value& value) = nullptr;

    // A condition "column in array parameter": {column} and {param} are replaced, e.g.
    // "{column} = ANY (:{param}::bigint[])".
    std::string in_array;

    // Schema. The texts run in one transaction each, under `migration_lock`.
    std::span<const EmbeddedMigration> migrations;
    std::string
        migration_table;  // CREATE ... IF NOT EXISTS of {schema}, migration and object tables
    // Makes others wait until the connection closes or its transaction ends; may be empty. Rows:
    // none, or one with 0 when the lock was not to be had.
    std::string migration_lock;
    // Rows: object, definition; everything the migrations made, in order of object.
    std::string catalog;
};

}  // namespace postroom::sql
