#include "backends/postgres/vocabulary.hpp"

#include <set>
#include <string_view>

#include <fmt/format.h>

#include "backends/postgres/field_texts.hpp"
#include "sql/ulid_text.hpp"

namespace postroom::postgres {

namespace {

using sql::Phrases;
using sql::RowPlace;

// Neither search_path nor the statistics of the moment may change what a routine does.
constexpr std::string_view path_setting = "SET search_path = pg_catalog, pg_temp";
constexpr std::string_view row_settings =
    "SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off "
    "SET jit = off";
constexpr std::string_view join_settings = "SET enable_hashjoin = off SET enable_mergejoin = off";

// Stands in a file of the schema, so it never changes.
std::string new_message_id() {
    return "(" +
           sql::ulid_time_text(
               "substr('{0}', 1 + ((date_part('epoch', statement_timestamp()) * "
               "1000)::bigint / {1} % 32)::integer, 1)",
               " || ") +
           " || upper(left(gen_random_uuid()::text, 8) || right(gen_random_uuid()::text, 8)))";
}

// What a routine is, behind its result. Each setting costs a call some time, so those that reach
// single rows leave out what is about joins, and a step runs under the settings of its caller.
Phrases routine_phrases() {
    constexpr std::string_view plpgsql = "LANGUAGE plpgsql VOLATILE";
    return {
        {"pinned", fmt::format("{} {} {} {}", plpgsql, path_setting, row_settings, join_settings)},
        {"pinned_rows", fmt::format("{} {} {}", plpgsql, path_setting, row_settings)},
        {"pinned_path", fmt::format("{} {}", plpgsql, path_setting)},
        {"pinned_sql", fmt::format("LANGUAGE sql VOLATILE {}", path_setting)},
        {"by_utc_days", "SET timezone = 'UTC' SET lock_timeout = '200ms'"},
        {"step", std::string(plpgsql)}};
}

bool is_in_row(const Field& field) { return field.is_in(in_row); }

bool tells_of_lease(const Field& field) {
    return field.name == "lease_id" || field.name == "owner" || field.name == "locked_until";
}

// Of the message row: what the public function read() leaves out, besides what stands in the id.
bool is_readable(const Field& field) {
    static const std::set<std::string_view> left_out{
        "seq",         "nonce",        "state",        "last_seen",  "available_at",
        "occurred_at", "processed_at", "processed_by", "last_error", "dead_reason",
        "died_at",     "max_attempts", "lease_id",     "owner"};
    return is_in_row(field) && !left_out.contains(field.name);
}

// There headers are JSON, in a variable of the function.
std::string readable_type(const Field& field) {
    return fmt::format("{} {}", field.name,
                       field.kind == FieldKind::headers ? "jsonb" : row_type(field));
}

std::string readable(const Field& field) {
    if (field.kind != FieldKind::headers) return fmt::format("r.{}", field.name);
    return "headers_read";
}

Phrases row_phrases(Queue queue) {
    const auto held = [queue](RowPlace place) {
        return joined(&is_in_row,
                      [=](const Field& field) { return held_value(field, place, queue); });
    };
    return {
        {"row_types",
         joined(&is_in_row,
                [](const Field& f) { return fmt::format("{} {}", f.name, row_type(f)); })},
        // Neither is unpacked for it.
        {"content_bytes", "octet_length(m.payload) + coalesce(octet_length(m.headers::text), 0)"},
        {"beyond_size", "CASE WHEN m.seq = ANY (beyond) THEN ({content_bytes})::bigint END"},
        {"held_live", held(RowPlace::live)},
        {"held_waiting", held(RowPlace::waiting)},
        {"status_columns", joined([](const Field& f) { return is_in_row(f) && !tells_of_lease(f); },
                                  [](const Field& f) { return fmt::format("m.{}", f.name); })},
        {"no_lease",
         "(SELECT NULL::bigint AS lease_id, NULL::uuid AS owner, NULL::timestamptz AS "
         "locked_until)"},
        {"readable_types", joined(&is_readable, &readable_type)},
        {"readable", joined(&is_readable, &readable)}};
}

// What the views tell in the words of the documents.
std::string documented(Queue queue) {
    return fmt::format("{} AS status_name, m.retry_count AS attempt",
                       sql::state_word(queue, "m.state"));
}

// Where a text differs by queue.
Phrases queue_phrases(Queue queue) {
    constexpr const char* same_key = "k.source = m.source AND k.message_id = m.message_id";
    if (queue == Queue::outbox) {
        return {{"join_key", ""},
                {"lateral_key", ""},
                {"past_rows", "{row:done} FROM {done} m"},
                // Content of an outbox message never changes.
                {"lock_chosen", ""},
                {"require_error", ""},
                {"documented", documented(queue)},
                {"drop_former", ""},
                {"new_message_id", new_message_id()},
                {"keys_dead", "0"},
                {"keys_seen", "0"}};
    }
    return {{"join_key", fmt::format("LEFT JOIN {{key}} k ON {}", same_key)},
            {"lateral_key",
             fmt::format("LEFT JOIN LATERAL (SELECT k.hash, k.first_seen, k.last_seen FROM {{key}} "
                         "k WHERE {} OFFSET 0) k ON true",
                         same_key)},
            {"past_rows",
             "{row:key} FROM {key} k LEFT JOIN {kept} c ON c.source = k.source AND c.message_id = "
             "k.message_id WHERE k.seq IS NULL"},
            // A message that arrives again may change content that nobody holds.
            {"lock_chosen", "FOR UPDATE SKIP LOCKED"},
            // enqueue() has got more arguments; beside each other the two could not be told apart.
            {"drop_former",
             "DROP FUNCTION IF EXISTS {enqueue}(text, text, text, bytea, bytea, timestamptz, text, "
             "jsonb, text), {enqueue}(text, text, text, text, bytea, timestamptz, text, jsonb, "
             "text), {enqueue}(text, text, text, jsonb, bytea, timestamptz, text, jsonb, text);"},
            {"documented", documented(queue) + ", m.created_at AS first_seen"},
            // An inbox message does not fail without a reason.
            {"require_error",
             "IF in_error IS NULL THEN PERFORM {refuse}('error: must not be NULL'); END IF;"},
            {"keys_dead", "(SELECT count(*) FROM {key} WHERE state = 3 AND seq IS NULL)"},
            {"keys_seen", "(SELECT count(*) FROM {key} WHERE state = 4)"}};
}

// Of our own statements.
Phrases statement_phrases() {
    return {
        {"take_turn", "LOCK TABLE {claim_gate} IN SHARE UPDATE EXCLUSIVE MODE;"},
        // No lease is longer than a day: one that ends later was given by a clock that was put
        // back.
        {"born_over",
         "(born_until <= clock_timestamp() OR born_until > clock_timestamp() + interval '1 day')"},
        {"born_columns", "owner, lease_id, born_until"},
        {"born_values",
         ":born_owner::uuid, :born_lease_id::bigint, "
         "statement_timestamp() + :born_us::bigint * interval '1 microsecond'"},
        // A row of a subtransaction carries the id of that.
        {"written", "seq, (xmin = pg_current_xact_id()::xid)::integer, nonce"},
        {"earlier_of_key",
         "(SELECT b.seq FROM {waiting} b WHERE b.ordering_key >= c.ordering_key AND "
         "(b.ordering_key, b.seq) < (c.ordering_key, c.seq) AND NOT b.frees_key "
         "ORDER BY b.ordering_key, b.seq LIMIT 1)"},
        {"enqueue_arrays", arrays_of(in_enqueue)},
        {"enqueue_elements", elements_of(in_enqueue)},
        {"bare_arrays", arrays_of(in_bare)},
        {"bare_elements", elements_of(in_bare)}};
}

Phrases phrases(Queue queue) {
    Phrases out = routine_phrases();
    out.merge(row_phrases(queue));
    out.merge(queue_phrases(queue));
    out.merge(statement_phrases());
    return out;
}

// In place: grants stay, and whoever runs the old one at this moment is not disturbed.
std::string define(std::string_view kind, const std::string& name) {
    return fmt::format("CREATE OR REPLACE {} {}", kind, name);
}

}  // namespace

sql::Vocabulary make_vocabulary() {
    return {.qualify =
                [](const base::Identifier& schema, std::string_view name) {
                    return fmt::format("\"{}\".\"{}\"", schema.str(), name);
                },
            .quoted = [](std::string_view name) { return fmt::format("\"{}\"", name); },
            .fields = field_texts(),
            .phrases = &phrases,
            .define = &define};
}

}  // namespace postroom::postgres
