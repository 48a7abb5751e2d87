// Claim and reap.
//
// Writers take turns in SQLite, so a claim is simply one write transaction. It begins and commits
// in its own text, because the messages are read after the commit: megabytes of payload must not
// keep the other writers waiting. It has one time for all of its statements, :run_now (see
// Driver::run): its leases are found again by it.
#include <string>

#include <fmt/format.h>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/fragments.hpp"
#include "backends/sqlite/steps.hpp"

namespace postroom::sqlite {

namespace {

// Leases that have run out are marked first (locked_until = -1), so that the statements that follow
// agree on which they are. Live messages move to {waiting}.
// `limit` bounds the work. Returns the positions of the statements that mark.
std::vector<std::size_t> take_back(Steps& steps, std::string_view limit) {
    const std::size_t marked = steps.add(fmt::format(
        "UPDATE {{lease}} SET locked_until = -1 WHERE seq IN (SELECT seq FROM {{lease}} INDEXED BY "
        "{{lease_by_end}} WHERE locked_until <= :run_now ORDER BY locked_until LIMIT {})",
        limit));
    // A row born leased that was never leased otherwise gets its lease row here, already marked.
    const std::size_t marked_born = steps.add(fmt::format(
        "INSERT INTO {{lease}} (seq, lease_id, locked_until, owner) "
        "SELECT m.seq, m.lease_id, -1, m.owner FROM {{live}} AS m INDEXED BY {{live_born}} "
        "WHERE m.born_until <= :run_now AND @free ORDER BY m.born_until "
        "LIMIT max(0, {} - (SELECT count(*) FROM {{lease}} WHERE locked_until = -1))",
        limit));
    std::vector<std::size_t> marks{marked, marked_born};
    // Waiting messages stay where they are. Before the move: what moves is counted there.
    steps.add_after(marks, R"(UPDATE {waiting}
           SET lost_count = lost_count + 1, available_at = :run_now
           WHERE state = 0
             AND seq IN (SELECT seq FROM {lease} INDEXED BY {lease_by_end} WHERE locked_until = -1))");
    steps.add_after(marks, R"(INSERT INTO {waiting} (seq, @message, available_at, lost_count)
           SELECT m.seq, @message, :run_now, 1
           FROM {live} AS m
           WHERE m.seq IN (SELECT seq FROM {lease} INDEXED BY {lease_by_end} WHERE locked_until = -1))");
    steps.add_after(marks, R"(DELETE FROM {live}
           WHERE seq IN (SELECT seq FROM {lease} INDEXED BY {lease_by_end} WHERE locked_until = -1))");
    return marks;
}

constexpr std::string_view forget_marked =
    "DELETE FROM {lease} WHERE seq IN (SELECT seq FROM {lease} INDEXED BY {lease_by_end} WHERE "
    "locked_until = -1)";

// Leases the messages that `from` finds, up to `limit` of what is left of the batch (room), under
// the ordering key that they have.
std::string lease_from(std::string_view from, std::string_view limit,
                       std::string_view ordering_key = "NULL") {
    constexpr std::string_view room =
        "max(0, :batch - (SELECT count(*) FROM {lease} INDEXED BY {lease_by_end} "
        "WHERE locked_until = :run_now + :lease_us AND lease_id = :lease_id))";
    return weave(
        fmt::format("INSERT INTO {{lease}} (seq, lease_id, locked_until, owner, ordering_key) "
                    "SELECT m.seq, :lease_id, :run_now + :lease_us, :owner, {} FROM {} LIMIT {}",
                    ordering_key, from, fmt::format(fmt::runtime(limit), room)));
}

// Each of these walks an index in the order wanted and stops at the limit. That nobody holds a
// message is asked with a join: a subquery opens its table for each row.
constexpr std::string_view urgent =
    "{live} AS m INDEXED BY {live_urgent} LEFT JOIN {lease} AS l ON l.seq = m.seq "
    "WHERE m.priority > 0 AND m.born_until IS NULL AND l.seq IS NULL "
    "ORDER BY m.priority DESC, m.seq";
constexpr std::string_view fresh =
    "{live} AS m NOT INDEXED LEFT JOIN {lease} AS l ON l.seq = m.seq "
    "WHERE m.seq > 0 AND m.born_until IS NULL AND l.seq IS NULL ORDER BY m.seq";
constexpr std::string_view due =
    "{waiting} AS m INDEXED BY {waiting_due} LEFT JOIN {lease} AS l ON l.seq = m.seq "
    "WHERE m.state = 0 AND m.priority >= 0 AND m.ordering_key IS NULL AND m.available_at <= "
    ":run_now "
    "AND l.seq IS NULL ORDER BY m.available_at, m.seq";
constexpr std::string_view low =
    "{waiting} AS m INDEXED BY {waiting_low} LEFT JOIN {lease} AS l ON l.seq = m.seq "
    "WHERE m.state = 0 AND m.priority < 0 AND m.ordering_key IS NULL AND m.available_at <= "
    ":run_now "
    "AND l.seq IS NULL ORDER BY m.available_at, m.seq";
// One of each ordering key at most is not behind. A message may come to stand before one that is
// leased: then it waits.
constexpr std::string_view in_turn =
    "{waiting} AS m INDEXED BY {waiting_turn} LEFT JOIN {lease} AS l ON l.seq = m.seq "
    "WHERE m.state = 0 AND m.behind = 0 AND m.ordering_key IS NOT NULL AND m.available_at <= "
    ":run_now "
    "AND l.seq IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM {lease} AS k WHERE k.ordering_key = m.ordering_key) "
    "ORDER BY m.available_at, m.seq";

// The message rows under :lease_id, of {live} or of {waiting}.
std::string leased_rows(Queue queue, bool live) {
    const bool inbox = queue == Queue::inbox;
    return weave(fmt::format(
        "SELECT m.seq, m.nonce, 1, m.message_id, m.topic, m.payload, m.content_type, m.headers, "
        "m.correlation_id, "
        "m.tenant_id, {key}, m.aggregate_type, m.aggregate_id, m.ordering_key, m.source, {seen}, "
        "{available}, "
        "m.occurred_at, m.due_time, m.expires_at, NULL, NULL, m.priority, m.max_attempts, "
        "{counts}, "
        "l.lease_id, l.owner, l.locked_until "
        "FROM {{lease}} AS l INDEXED BY {{lease_by_end}} CROSS JOIN {table} AS m ON m.seq = "
        "l.seq{join} "
        "WHERE l.locked_until = :run_now + :lease_us AND l.lease_id = :lease_id",
        fmt::arg("key", inbox ? "m.idempotency_key" : "coalesce(m.idempotency_key, m.message_id)"),
        fmt::arg("seen", inbox ? "k.hash, coalesce(k.first_seen, m.created_at), k.last_seen"
                               : "m.hash, m.created_at, NULL"),
        fmt::arg("available", live ? "coalesce(m.due_time, m.created_at)" : "m.available_at"),
        fmt::arg("counts", live ? "0, 0, NULL, NULL"
                                : "m.retry_count, m.lost_count, m.last_error, m.dead_reason"),
        fmt::arg("table", live ? "{live}" : "{waiting}"),
        fmt::arg(
            "join",
            inbox ? " LEFT JOIN {key} AS k ON k.source = m.source AND k.message_id = m.message_id"
                  : "")));
}

}  // namespace

sql::UnitText claim_text(Queue queue) {
    Steps steps;
    steps.add("BEGIN IMMEDIATE");
    steps.add_after(take_back(steps, ":batch"), forget_marked);
    // Half of the batch is for due messages and the rest for fresh ones, and either may use what
    // the other leaves; before that, half of the due ones' half is for those with an ordering key.
    // The odd place goes to each in turn. Every fourth claim goes by age: no preference for urgent
    // messages, and low ones share the half of the due ones.
    std::vector<std::size_t> live;
    std::vector<std::size_t> waiting;
    live.push_back(steps.add(lease_from(urgent, "iif(:turn % 4 = 3, 0, {})")));
    waiting = {
        steps.add(lease_from(low, "iif(:turn % 4 = 3, (({} + 1) / 2 + 1) / 2, 0)")),
        steps.add(lease_from(in_turn, "(({} + :turn / 4) / 2 + :turn % 2) / 2", "m.ordering_key")),
        steps.add(lease_from(due, "({} + :turn / 4) / 2")),
    };
    live.push_back(steps.add(lease_from(fresh, "{}")));
    waiting.push_back(steps.add(lease_from(in_turn, "{}", "m.ordering_key")));
    waiting.push_back(steps.add(lease_from(due, "{}")));
    waiting.push_back(steps.add(lease_from(low, "{}")));
    steps.add("COMMIT");
    steps.add_after(live, leased_rows(queue, true));
    steps.add_after(waiting, leased_rows(queue, false));
    return steps.unit(true);
}

sql::UnitText reap_text() {
    Steps steps;
    take_back(steps, ":limit");
    // By now every message that was lost waits; a lease without a message does not count.
    steps.add(
        "SELECT count(*) FROM {lease} AS l INDEXED BY {lease_by_end} CROSS JOIN {waiting} AS w ON "
        "w.seq = l.seq "
        "WHERE l.locked_until = -1");
    steps.add(forget_marked);
    return steps.unit();
}

}  // namespace postroom::sqlite
