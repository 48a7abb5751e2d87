#include "backends/sqlite/vocabulary.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "backends/sqlite/row_texts.hpp"

namespace postroom::sqlite {

namespace {

// SQLite has no schemas, only files; names were checked to hold nothing that needs escaping.
std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }
std::string qualify(const base::Identifier& /*schema*/, std::string_view name) {
    return quoted(name);
}

// Nothing can replace a view in place. The deployment is one transaction, so nobody sees it gone.
std::string define(std::string_view kind, const std::string& name) {
    return fmt::format("DROP {0} IF EXISTS {1};\nCREATE {0} {1}", kind, name);
}

// Of a message that gets its number in {live} and moves on at once when it has no place there.
constexpr std::array no_place_in_live{
    FieldText{"priority", ":priority"},
    FieldText{"due_time", ":due_time"},
    FieldText{"ordering_key", ":ordering_key"},
};
constexpr std::array place_in_live{
    FieldText{"priority", "max(:priority, 0)"},
    FieldText{"due_time", "{due_by_now}"},
    FieldText{"ordering_key", "NULL"},
};

// In the conditions m is a message, of {live} or of {waiting}.
sql::Phrases shared_phrases() {
    return {
        // The time of the statement, in microseconds since 1970: julianday has milliseconds, and
        // 'now' is the same wherever it stands in one execution of a statement.
        {"now", "(CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)"},
        {"owner_text",
         "CASE WHEN owner IS NOT NULL THEN lower(substr(hex(owner), 1, 8) || '-' || "
         "substr(hex(owner), 9, 4) || '-' || substr(hex(owner), 13, 4) || '-' || "
         "substr(hex(owner), 17, 4) || '-' || substr(hex(owner), 21)) END"},
        // A due time that has come.
        {"due_by_now", "CASE WHEN :due_time <= {now} THEN :due_time END"},
        // When a new message, of {live}, becomes available: an expired one does not wait.
        {"available_new",
         "min(coalesce(:due_time, created_at), coalesce(expires_at, :due_time, created_at))"},
        // When one that arrived again does.
        {"available_again",
         "min(max(coalesce(:due_time, {now}), {now}), "
         "coalesce(:expires_at, max(coalesce(:due_time, {now}), {now})))"},
        {"scheduled", fields_with(in_live, "", no_place_in_live)},
        // m is one of :seqs with one of :nonces. Sets suffice: nonces are random 64-bit numbers, so
        // a foreign pair of the two does not occur.
        {"these",
         "m.seq IN (SELECT value FROM json_each(:seqs)) AND m.nonce IN (SELECT value FROM "
         "json_each(:nonces))"},
        {"this", "m.seq = :seq AND m.nonce = :nonce"},
        // m is one of the run :first, :last, :nonces (8: RowRun::width). Bytes, because the place
        // of a character in a text has to be counted; compared as text, because digits among bytes
        // would be read in the encoding of the file.
        {"run",
         "m.seq BETWEEN :first AND :last AND printf('%016X', m.nonce) = "
         "hex(substr(:nonces, 8 * (m.seq - :first) + 1, 8))"},
        // m is one of the run, and all of its messages are live and held. That is asked once for
        // all rows of a statement.
        {"whole_run",
         "m.seq BETWEEN :first AND :last AND (SELECT count(*) FROM {live} AS m {with_lease} "
         "WHERE {run} AND (l.lease_id = :lease_id OR (l.seq IS NULL AND m.lease_id = :lease_id))) "
         "= :last - :first + 1"},
        // A join: a subquery opens its table for each row.
        {"with_lease", "LEFT JOIN {lease} AS l ON l.seq = m.seq"},
        // Nobody holds m, not even with a lease that has run out.
        {"free", "NOT EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = m.seq)"},
        // The failed attempts of m with :attempt, if there is one, of which the last ones are kept;
        // and those of a message that had none.
        {"this_attempt", "json_set(:attempt, '$.at', {now})"},
        {"more_attempts",
         "iif(:attempt IS NULL, m.attempts, json_insert(iif(json_array_length(m.attempts) >= "
         "{attempts_kept}, json_remove(m.attempts, '$[0]'), coalesce(m.attempts, '[]')), '$[#]', "
         "{this_attempt}))"},
        {"first_attempts", "iif(:attempt IS NULL, NULL, json_array({this_attempt}))"},
        // The lease :lease_id on m stands.
        {"held",
         "EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = m.seq AND l.lease_id = :lease_id)"},
        // The lease :lease_id on m stands in {live}, where a message may be leased from birth.
        {"held_live", "({held} OR (m.lease_id = :lease_id AND {free}))"},
        // The leases that a claim takes back.
        {"lost", "(SELECT seq FROM {lease} INDEXED BY {lease_by_end} WHERE locked_until = -1)"},
        // The key of the inbox, and m is its queued content.
        {"this_key", "source = :source AND message_id = :message_id"},
        {"keyed", "(m.seq, m.nonce) = (SELECT seq, nonce FROM {key} WHERE {this_key})"},
        // What there was of the key k before it is changed.
        {"found_state",
         "iif(k.state = 0 AND EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = k.seq AND "
         "l.locked_until > {now}), 1, k.state)"},
        // Done or leased: the content of the key k stays as it is.
        {"fixed", "(k.state = 2 OR EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = k.seq))"},
    };
}

sql::Phrases phrases(Queue queue) {
    const bool inbox = queue == Queue::inbox;
    sql::Phrases out = shared_phrases();
    out["numbered"] = fields_with(inbox ? in_receive : in_enqueue, ":", place_in_live);
    out["claimed_live"] = claimed_row(sql::RowPlace::live, queue);
    out["claimed_waiting"] = claimed_row(sql::RowPlace::waiting, queue);
    out["unleased_row"] = unleased_row();
    // What the views are made of, beside {live} and {waiting}.
    out["with_key"] = inbox ? "JOIN {key} AS k ON k.seq = m.seq AND k.source = m.source AND "
                              "k.message_id = m.message_id"
                            : "";
    out["settled"] = inbox ? "SELECT {row:key} FROM {key} AS k WHERE k.seq IS NULL"
                           : "SELECT {row:done} FROM {done} AS m";
    out["state_word"] = sql::state_word(queue, "state");
    out["first_seen_name"] = inbox ? ", first_seen" : "";
    out["first_seen_value"] = inbox ? ", created_at" : "";
    return out;
}

}  // namespace

std::string fields_with(FieldSet set, std::string_view before,
                        std::span<const FieldText> replaced) {
    return sql::field_list(set, [&](const Field& field) {
        const auto found = std::find_if(replaced.begin(), replaced.end(),
                                        [&](const auto& text) { return text.first == field.name; });
        return found == replaced.end() ? fmt::format("{}{}", before, field.name)
                                       : std::string(found->second);
    });
}

sql::Vocabulary vocabulary() {
    return {.qualify = qualify,
            .quoted = quoted,
            .fields = {.row_value = &row_column},
            .phrases = &phrases,
            .define = &define};
}

}  // namespace postroom::sqlite
