// Ack: for one message and for a run of them.
//
// JSON arrays would be dearer than either: they have to be written, read and put into a set.
// RETURNING stands in the rare cases only: it reads all columns of a row and keeps a list. A
// question for what the statement before has changed does the same.
//
// For a run there is a short way first: when each of its messages is live and held, which is the
// rule, all of them go at once. Else each is looked at by itself.
#include <string>

#include <fmt/format.h>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/steps.hpp"

namespace postroom::sqlite {

namespace {

enum class AckForm { run, one };

std::string messages(AckForm form) { return form == AckForm::run ? "{run}" : "{this}"; }

// The end of the short way. Returns the position of the removal.
std::size_t remove_whole_run(Steps& steps) {
    const std::size_t gone = steps.add("DELETE FROM {live} AS m WHERE {whole_run}");
    steps.add_after({gone}, "SELECT NULL WHERE changes() > 0");
    steps.add_after({gone}, R"(DELETE FROM {lease}
           WHERE seq BETWEEN :first AND :last AND lease_id = :lease_id AND changes() > 0)");
    return gone;
}

// The leases of those that have gone.
std::string forget_leases(const std::string& which) {
    return "DELETE FROM {lease} WHERE " + which + R"( AND lease_id = :lease_id
             AND NOT EXISTS (SELECT 1 FROM {live} AS m WHERE m.seq = {lease}.seq)
             AND NOT EXISTS (SELECT 1 FROM {waiting} AS m WHERE m.seq = {lease}.seq))";
}

void remove_run(Steps& steps) {
    const std::size_t whole = remove_whole_run(steps);
    steps.add_unless(whole, "DELETE FROM {live} AS m WHERE {run} AND {held_live} RETURNING seq");
    steps.add_unless(whole, "DELETE FROM {waiting} AS m WHERE {run} AND {held} RETURNING seq");
    steps.add_unless(whole, forget_leases("seq BETWEEN :first AND :last"));
}

void remove_one(Steps& steps) {
    constexpr std::string_view question = "SELECT :seq WHERE changes() > 0";
    const std::size_t live = steps.add("DELETE FROM {live} AS m WHERE {this} AND {held_live}");
    steps.add_after({live}, question);
    const std::size_t waiting =
        steps.add_unless(live, "DELETE FROM {waiting} AS m WHERE {this} AND {held}");
    steps.add_after({waiting}, question);
    steps.add(forget_leases("seq = :seq"));
}

// What is noted of messages before they go: `note` makes the statement for a table, the values of
// its counts, and which rows of it.
template <class Note>
void note_acked(Steps& steps, AckForm form, const Note& note) {
    const std::string live = messages(form) + " AND {held_live}";
    std::size_t noted = 0;
    if (form == AckForm::run) {
        noted = steps.add(note("{live}", "0, 0, NULL", "{whole_run}"));
        steps.add_unless(noted, note("{live}", "0, 0, NULL", live));
    } else {
        noted = steps.add(note("{live}", "0, 0, NULL", live));
    }
    steps.add_unless(noted, note("{waiting}", "m.retry_count, m.lost_count, m.attempts",
                                 messages(form) + " AND {held}"));
}

// OR REPLACE: a number that a doctored file gave out twice must not keep a delivery from being
// noted.
std::string keep(const std::string& table, const std::string& counts, const std::string& rows) {
    return R"(INSERT OR REPLACE INTO {done}
               ({columns:kept}, processed_at, processed_by, retry_count, lost_count, attempts)
           SELECT {columns:kept m}, {now}, :owner_text, )" +
           counts + " FROM " + table + " AS m WHERE " + rows;
}

// What stays known of a message of the inbox: how often it failed, and its content with `history`.
std::string remembered(const std::string& table, bool history) {
    const bool failed = table == "{waiting}";
    if (!failed && !history) return "last_error = NULL";
    return fmt::format(
        "(retry_count, last_error{}) = (SELECT {}{} FROM {} AS m WHERE m.seq = {{key}}.seq)",
        history ? ", content_type, headers, payload" : "",
        failed ? "m.retry_count, m.last_error" : "0, NULL",
        history ? ", m.content_type, m.headers, m.payload" : "", table);
}

sql::UnitText ack(Queue queue, AckForm form, bool history) {
    Steps steps;
    // A statement for each table: over a union SQLite would read all keys. With = in place of IN
    // the one key needs no set. UPDATE .. FROM is dearer.
    const auto finish = [&](const std::string& table, const std::string&, const std::string& rows) {
        return "UPDATE {key} SET state = 2, seq = NULL, nonce = NULL, " +
               remembered(table, history) + R"(,
               processed_at = {now}, processed_by = :owner_text
           WHERE (source, message_id) )" +
               std::string(form == AckForm::one ? "=" : "IN") +
               " (SELECT m.source, m.message_id FROM " + table + " AS m WHERE " + rows + ")";
    };
    if (queue == Queue::inbox)
        note_acked(steps, form, finish);
    else if (history)
        note_acked(steps, form, keep);
    if (form == AckForm::run)
        remove_run(steps);
    else
        remove_one(steps);
    return steps.unit();
}

}  // namespace

sql::AckTexts ack_texts(Queue queue) {
    const auto way = [&](AckForm form) {
        return sql::AckTexts::Way{.plain = ack(queue, form, false), .kept = ack(queue, form, true)};
    };
    return {.run = way(AckForm::run), .one = way(AckForm::one)};
}

}  // namespace postroom::sqlite
