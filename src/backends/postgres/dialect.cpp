#include "backends/postgres/dialect.hpp"

#include <fmt/format.h>

#include "backends/postgres/catalog.hpp"
#include "backends/postgres/encoding.hpp"
#include "sql/message_row.hpp"

namespace postroom::postgres {

std::span<const sql::EmbeddedMigration> migrations();

namespace {

sql::UnitText one(std::string statement) {
    return {.statements = {std::move(statement)}, .separate = false};
}

// Counted by scanning: exact, and the same on every engine. Leases of messages that are gone are
// few and short-lived.
constexpr const char* count_texts = R"(
SELECT greatest(0, v.total + w.ready - p.leased - v.born), p.leased + v.born, w.dead + {unqueued_dead}, {seen}, w.retrying,
       least(v.oldest, w.oldest)
  FROM (SELECT count(*) AS total, min(created_at) AS oldest,
               count(*) FILTER (WHERE born_until > statement_timestamp()
                                AND (SELECT l.seq FROM {lease} l WHERE l.seq = m.seq) IS NULL) AS born
          FROM {live} m) v,
       (SELECT count(*) FILTER (WHERE state = 0) AS ready, count(*) FILTER (WHERE state = 3) AS dead,
               count(*) FILTER (WHERE state = 0 AND retry_count > 0
                                AND coalesce((SELECT l.locked_until FROM {lease} l WHERE l.seq = m.seq)
                                             <= statement_timestamp(), true)) AS retrying,
               min(created_at) FILTER (WHERE state = 0) AS oldest
          FROM {waiting} m) w,
       (SELECT count(*) AS leased FROM {lease} WHERE locked_until > statement_timestamp()) p
)";

std::string counts_text(std::string_view unqueued_dead, std::string_view seen) {
    std::string text = count_texts;
    const auto put = [&text](std::string_view token, std::string_view value) {
        text.replace(text.find(token), token.size(), value);
    };
    put("{unqueued_dead}", unqueued_dead);
    put("{seen}", seen);
    return text;
}

// An array, so that each table of the view is reached by its index.
constexpr const char* blocking_text = R"(seq = ANY (ARRAY(
    SELECT b.seq FROM {waiting} b
     WHERE b.ordering_key IS NOT NULL AND NOT b.frees_key AND (b.state = 3 OR b.retry_count > 0)
       AND (SELECT e.seq FROM {waiting} e
             WHERE e.ordering_key = b.ordering_key AND e.seq < b.seq AND NOT e.frees_key
             ORDER BY e.seq LIMIT 1) IS NULL
       AND (SELECT n.seq FROM {waiting} n
             WHERE n.ordering_key = b.ordering_key AND n.seq > b.seq AND NOT n.frees_key AND n.state = 0
             ORDER BY n.seq LIMIT 1) IS NOT NULL)))";

sql::QueueTexts queue_texts() {
    sql::QueueTexts t;
    // The function's own result is no message row: its number of leases goes unseen. The second
    // statement reads the messages after the first has committed and with it released the claim
    // lock.
    t.claim = {
        .statements =
            {"SELECT n FROM {do_claim}(:owner::uuid, :lease_id::bigint, :lease_us::bigint, "
             ":batch::bigint, :turn::bigint, true) AS n WHERE n IS NULL",
             fmt::format("SELECT {} FROM {{do_read}}(:lease_id::bigint)", sql::message_columns)},
        .separate = true};
    t.ack =
        one("SELECT * FROM {do_ack}(:seqs::bigint[], :nonces::bigint[], :lease_id::bigint, "
            ":owner::uuid, :keep_history::bigint <> 0, :relaxed::bigint <> 0)");
    t.retry =
        one("SELECT seq, state FROM {do_retry}(:seq::bigint, :nonce::bigint, :lease_id::bigint, "
            ":error::text, "
            ":delay_us::bigint, :count_attempt::bigint, :max_attempts::bigint, "
            ":frees_key::bigint <> 0)");
    t.fail = one(
        "SELECT * FROM {do_fail}(:seq::bigint, :nonce::bigint, :lease_id::bigint, :error::text, "
        ":reason::text, :frees_key::bigint <> 0)");
    t.extend =
        one("SELECT * FROM {do_extend}(:seqs::bigint[], :nonces::bigint[], :lease_id::bigint, "
            ":owner::uuid, "
            ":lease_us::bigint)");
    t.reap = one("SELECT {do_reap}(:limit::bigint)");
    t.redrive = one("SELECT {do_redrive}(:seqs::bigint[], :nonces::bigint[])");
    t.hold =
        one("SELECT * FROM {do_hold}(:seqs::bigint[], :nonces::bigint[], :lease_id::bigint, "
            ":owner::uuid, :lease_us::bigint)");
    t.purge =
        one("SELECT purged, busy FROM {do_purge}(:older_us::bigint, :window_us::bigint, "
            ":batch::bigint)");
    t.find = {fmt::format("SELECT {} FROM {{view}}", sql::message_columns)};
    t.blocking = blocking_text;
    return t;
}

sql::OutboxTexts outbox_texts() {
    sql::OutboxTexts t;
    constexpr const char* columns =
        "nonce, message_id, topic, payload, content_type, headers, correlation_id, tenant_id, "
        "idempotency_key, "
        "aggregate_type, aggregate_id, occurred_at, expires_at, priority, ordering_key, "
        "max_attempts, owner, "
        "lease_id, born_until";
    constexpr const char* born =
        ":born_owner::uuid, :born_lease_id::bigint, "
        "statement_timestamp() + :born_us::bigint * interval '1 microsecond'";
    // A row of a subtransaction carries the id of that.
    constexpr const char* written = "seq, (xmin = pg_current_xact_id()::xid)::integer";
    t.insert = one(fmt::format(
        "INSERT INTO {{live}} ({}) VALUES (:nonce::bigint, :message_id::text, :topic::text, "
        ":payload::bytea, "
        ":content_type::text, :headers::text::json, :correlation_id::text, :tenant_id::text, "
        ":idempotency_key::text, "
        ":aggregate_type::text, :aggregate_id::text, :occurred_at::timestamptz, "
        ":expires_at::timestamptz, "
        ":priority::bigint, :ordering_key::text, :max_attempts::bigint, {}) RETURNING {}",
        columns, born, written));
    t.insert_many = one(fmt::format(
        "INSERT INTO {{live}} ({}) SELECT n, m, t, p, ct, h::json, ci, ti, ik, aty, ai, oa, ea, "
        "pr, ok, "
        "nullif(ma, 0), {} FROM unnest(:nonce::bigint[], :message_id::text[], :topic::text[], "
        ":payload::bytea[], "
        ":content_type::text[], :headers::text[], :correlation_id::text[], :tenant_id::text[], "
        ":idempotency_key::text[], :aggregate_type::text[], :aggregate_id::text[], "
        ":occurred_at::timestamptz[], "
        ":expires_at::timestamptz[], :priority::bigint[], :ordering_key::text[], "
        ":max_attempts::bigint[]) "
        "AS u(n, m, t, p, ct, h, ci, ti, ik, aty, ai, oa, ea, pr, ok, ma) RETURNING {}",
        columns, born, written));
    constexpr const char* born_columns = ", owner, lease_id, born_until";
    const auto bare = [&](std::string_view more_columns, const std::string& more_values) {
        return sql::InsertTexts{
            .one = one(fmt::format("INSERT INTO {{live}} (nonce, message_id, topic, payload{}) "
                                   "VALUES (:nonce::bigint, :message_id::text, :topic::text, "
                                   ":payload::bytea{}) RETURNING {}",
                                   more_columns, more_values, written)),
            .many = one(fmt::format(
                "INSERT INTO {{live}} (nonce, message_id, topic, payload{}) "
                "SELECT n, m, t, p{} FROM unnest(:nonce::bigint[], :message_id::text[], "
                ":topic::text[], :payload::bytea[]) AS u(n, m, t, p) RETURNING {}",
                more_columns, more_values, written))};
    };
    t.bare = bare("", "");
    t.bare_born = bare(born_columns, fmt::format(", {}", born));
    t.enqueue =
        one("SELECT seq, nonce, message_id, already_existed FROM {do_enqueue}(:nonce::bigint, "
            ":message_id::text, "
            ":topic::text, :payload::bytea, :content_type::text, :headers::text::json, "
            ":correlation_id::text, "
            ":tenant_id::text, :idempotency_key::text, :aggregate_type::text, :aggregate_id::text, "
            ":occurred_at::timestamptz, :expires_at::timestamptz, :priority::bigint::integer, "
            ":ordering_key::text, "
            ":max_attempts::bigint::integer, :key::text, :due_time::timestamptz)");
    return t;
}

sql::InboxTexts inbox_texts() {
    sql::InboxTexts t;
    t.receive =
        one("SELECT seq, nonce, previous, hash_mismatch FROM {do_receive}(:nonce::bigint, "
            ":source::text, "
            ":message_id::text, :topic::text, :payload::bytea, :hash::bytea, :content_type::text, "
            ":headers::text::json, "
            ":ordering_key::text, :due_time::timestamptz, :expires_at::timestamptz, "
            ":priority::bigint::integer, "
            ":max_attempts::bigint::integer, :revive::bigint <> 0)");
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
    d.qualify = [](const base::Identifier& schema, std::string_view name) {
        return fmt::format("\"{}\".\"{}\"", schema.str(), name);
    };
    d.outbox_queue = queue_texts();
    d.outbox_queue.counts = one(counts_text("0", "0"));
    d.inbox_queue = queue_texts();
    d.inbox_queue.counts =
        one(counts_text("(SELECT count(*) FROM {key} WHERE state = 3 AND seq IS NULL)",
                        "(SELECT count(*) FROM {key} WHERE state = 4)"));
    d.outbox = outbox_texts();
    d.inbox = inbox_texts();
    d.foreign = foreign_texts();
    d.exams = exam_texts();
    d.now = "SELECT clock_timestamp()";
    d.render = &render;
    d.in_array = "{column} = ANY (:{param}::bigint[])";
    d.migrations = migrations();
    d.migration_table = migration_table_text;
    d.migration_lock = migration_lock_text;
    d.catalog = catalog_text;
    return d;
}

}  // namespace postroom::postgres
