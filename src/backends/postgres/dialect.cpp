#include "backends/postgres/dialect.hpp"

#include <fmt/format.h>

#include "backends/postgres/catalog.hpp"
#include "backends/postgres/encoding.hpp"
#include "backends/postgres/vocabulary.hpp"

namespace postroom::postgres {

std::span<const sql::EmbeddedMigration> schema_files();
std::span<const sql::EmbeddedRoutines> routine_files();

namespace {

// One table of messages, to be searched by the columns of the message row.
std::string part(const std::string& rows) {
    return "SELECT {columns:row} FROM (SELECT " + rows + ") m";
}

// As text: the driver takes it as it is.
std::string attempts_of(const std::string& messages) {
    return "SELECT attempts::text FROM " + messages +
           " WHERE seq = :seq AND nonce = :nonce AND attempts IS NOT NULL";
}

sql::UnitText one(std::string statement) {
    return {.statements = {std::move(statement)}, .separate = false};
}

// The messages b that hold back others of their key.
constexpr const char* blocking_messages = R"(SELECT b.seq FROM {waiting} b
     WHERE b.ordering_key IS NOT NULL AND NOT b.frees_key AND (b.state = 3 OR b.retry_count > 0)
       AND (SELECT e.seq FROM {waiting} e
             WHERE e.ordering_key = b.ordering_key AND e.seq < b.seq AND NOT e.frees_key
             ORDER BY e.seq LIMIT 1) IS NULL
       AND (SELECT n.seq FROM {waiting} n
             WHERE n.ordering_key = b.ordering_key AND n.seq > b.seq AND NOT n.frees_key AND n.state = 0
             ORDER BY n.seq LIMIT 1) IS NOT NULL)";

// Each message that passes what is asked for besides is judged by itself.
std::string blocking_text() {
    return fmt::format(
        "ordering_key IS NOT NULL AND (state = 3 OR retry_count > 0) AND ({} AND b.seq = m.seq) IS "
        "NOT NULL",
        blocking_messages);
}

// An array, so that the index of the line finds them, and the primary key their rows.
std::string blocking_of_key_text() {
    return fmt::format("seq = ANY (ARRAY({} AND b.ordering_key = :ordering_key))",
                       blocking_messages);
}

sql::QueueTexts queue_texts() {
    sql::QueueTexts t;
    // The function's own result is no message row: its number of leases goes unseen. The second
    // statement reads the messages after the first has committed and with it released the claim
    // lock.
    t.claim = {.statements =
                   {"SELECT n FROM {do_claim}(:owner::uuid, :lease_id::bigint, :lease_us::bigint, "
                    ":batch::bigint, :urgent_to::bigint, :keyed_to::bigint, :due_to::bigint, "
                    ":low_to::bigint, :keyed_again_to::bigint, true) AS n WHERE n IS NULL",
                    "SELECT {columns:row}, content_bytes FROM {do_read}(:lease_id::bigint, "
                    ":bytes::bigint, :bytes_of_one::bigint)"},
               .separate = true};
    t.ack.group =
        one("SELECT * FROM {do_ack}(:seqs::bigint[], :nonces::bigint[], :lease_id::bigint, "
            ":owner::uuid, :keep_history::bigint <> 0, :relaxed::bigint <> 0)");
    t.retry =
        one("SELECT seq, state FROM {do_retry}(:seq::bigint, :nonce::bigint, :lease_id::bigint, "
            ":error::text, "
            ":delay_us::bigint, :count_attempt::bigint, :max_attempts::bigint, "
            ":frees_key::bigint <> 0, :attempt::text::jsonb)");
    t.fail = one(
        "SELECT * FROM {do_fail}(:seq::bigint, :nonce::bigint, :lease_id::bigint, :error::text, "
        ":reason::text, :frees_key::bigint <> 0, :attempt::text::jsonb)");
    t.extend =
        one("SELECT * FROM {do_extend}(:seqs::bigint[], :nonces::bigint[], :lease_id::bigint, "
            ":owner::uuid, "
            ":lease_us::bigint)");
    t.reap = one("SELECT {do_reap}(:limit::bigint)");
    t.redrive = one("SELECT {do_redrive}(:seqs::bigint[], :nonces::bigint[])");
    t.retry_now = one("SELECT {do_retry_now}(:seqs::bigint[], :nonces::bigint[])");
    t.hold =
        one("SELECT * FROM {do_hold}(:seqs::bigint[], :nonces::bigint[], :lease_id::bigint, "
            ":owner::uuid, :lease_us::bigint)");
    t.purge =
        one("SELECT purged, busy FROM {do_purge}(:older_us::bigint, :window_us::bigint, "
            ":batch::bigint)");
    t.counts = one("SELECT * FROM {do_counts}(:old_attempts::bigint)");
    t.attempts = attempts_of("{waiting}");
    const StateSet fresh{State::ready, State::in_progress};
    t.find = {
        sql::FindText(
            part("{row:live} FROM {live} m LEFT JOIN {lease} l ON l.seq = m.seq {join_key}"), fresh)
            .fresh(),
        {part("{row:waiting} FROM {waiting} m LEFT JOIN {lease} l ON l.seq = m.seq {join_key}"),
         open_states}};
    t.numbers = {{sql::FindText("SELECT seq FROM {live} WHERE seq > 0", fresh).fresh()},
                 {{"SELECT seq FROM {waiting} WHERE seq > 0", open_states}}};
    t.blocking = blocking_text();
    t.blocking_of_key = blocking_of_key_text();
    return t;
}

// The history has a block index on its numbers, which finds ranges and no order, and one number in
// so many in an index that is in order.
constexpr std::uint64_t milestone_every = 128;

sql::QueueTexts outbox_queue_texts() {
    sql::QueueTexts t = queue_texts();
    t.find.push_back(sql::FindText(part("{past_rows}"), State::done, sql::FindText::Numbers::ranges)
                         .without_errors());
    t.numbers.push_back(
        {sql::FindText(fmt::format("SELECT seq FROM {{done}} WHERE seq % {} = 0", milestone_every),
                       State::done)
             .without_errors(),
         milestone_every});
    return t;
}

sql::QueueTexts inbox_queue_texts() {
    sql::QueueTexts t = queue_texts();
    t.find.emplace_back(part("{past_rows}"), StateSet{}, sql::FindText::Numbers::none);
    return t;
}

sql::OutboxTexts outbox_texts() {
    sql::OutboxTexts t;
    t.insert =
        one("INSERT INTO {live} ({columns:enqueue}, {born_columns}) "
            "VALUES ({bound:enqueue}, {born_values}) RETURNING {written}");
    t.insert_many =
        one("INSERT INTO {live} ({columns:enqueue}, {born_columns}) "
            "SELECT {enqueue_elements}, {born_values} FROM {enqueue_arrays} RETURNING {written}");
    t.bare = {
        .one = one("INSERT INTO {live} ({columns:bare}) VALUES ({bound:bare}) RETURNING {written}"),
        .many = one("INSERT INTO {live} ({columns:bare}) "
                    "SELECT {bare_elements} FROM {bare_arrays} RETURNING {written}")};
    t.bare_born = {
        .one = one("INSERT INTO {live} ({columns:bare}, {born_columns}) "
                   "VALUES ({bound:bare}, {born_values}) RETURNING {written}"),
        .many =
            one("INSERT INTO {live} ({columns:bare}, {born_columns}) "
                "SELECT {bare_elements}, {born_values} FROM {bare_arrays} RETURNING {written}")};
    t.enqueue =
        one("SELECT seq, nonce, message_id, already_existed FROM {do_enqueue}({bound:enqueue}, "
            ":key::text, :due_time::timestamptz)");
    t.as_writer =
        one("SELECT {enqueue}(topic => :topic::text, payload => :payload::bytea, "
            "correlation_id => :correlation_id::text, due_time => :due_time::timestamptz, "
            "tenant_id => :tenant_id::text, idempotency_key => :key::text, "
            "ordering_key => :ordering_key::text, headers => :headers::text::jsonb, "
            "content_type => :content_type::text, message_id => :message_id::text, "
            "priority => :priority::bigint::integer, "
            "max_attempts => :max_attempts::bigint::integer, "
            "expires_at => :expires_at::timestamptz, occurred_at => :occurred_at::timestamptz, "
            "aggregate_type => :aggregate_type::text, aggregate_id => :aggregate_id::text)::text, "
            "NULL::bigint");
    return t;
}

sql::InboxTexts inbox_texts() {
    sql::InboxTexts t;
    t.receive =
        one("SELECT seq, nonce, previous, hash_mismatch FROM {do_receive}({bound:receive}, "
            ":revive::bigint <> 0)");
    t.see =
        one("SELECT previous, hash_mismatch FROM {do_see}(:source::text, :message_id::text, "
            ":hash::bytea)");
    t.mark = one(
        "SELECT * FROM {do_mark}(:source::text, :message_id::text, :state::bigint, :error::text)");
    return t;
}

}  // namespace

sql::Dialect make_dialect() {
    sql::Dialect d;
    d.name = "PostgreSQL";
    d.placeholder = sql::Placeholder::dollar;
    d.vocabulary = make_vocabulary();
    d.outbox_queue = outbox_queue_texts();
    d.inbox_queue = inbox_queue_texts();
    d.outbox = outbox_texts();
    d.outbox.done_attempts = attempts_of("{done}");
    d.inbox = inbox_texts();
    d.words = &words();
    d.health_checks = health_checks();
    d.now = "SELECT clock_timestamp()";
    d.render = &render;
    d.in_array = "{column} = ANY (:{param}::bigint[])";
    d.paged = &sql::paged_by_limit;
    d.pause.pause = "INSERT INTO {paused} (topic) VALUES (:topic) ON CONFLICT DO NOTHING";
    d.restore = {.here = "{here}()", .can_write = "NOT pg_is_in_recovery()"};
    d.schema = schema_files();
    d.routines = routine_files();
    d.before_routines = before_routines_text;
    d.after_routines = after_routines_text;
    d.migration_table = migration_table_text;
    d.migration_lock = migration_lock_text;
    d.catalog = catalog_text;
    return d;
}

}  // namespace postroom::postgres
