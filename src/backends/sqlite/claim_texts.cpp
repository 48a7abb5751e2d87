// Claim and reap.
//
// Writers take turns in SQLite, so a claim is simply one write transaction. It begins and commits
// in its own text, because the messages are read after the commit: megabytes of payload must not
// keep the other writers waiting. It has one time for all of its statements, :run_now (see
// Driver::run): its leases are found again by it.
#include <string>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/steps.hpp"

namespace postroom::sqlite {

namespace {

// Leases that have run out are marked first (locked_until = -1), so that the statements that follow
// agree on which they are. Live messages move to {waiting}.
// `limit` bounds the work. Returns the positions of the statements that mark.
std::vector<std::size_t> take_back(Steps& steps, const std::string& limit) {
    const std::size_t marked = steps.add(
        "UPDATE {lease} SET locked_until = -1 WHERE seq IN (SELECT seq FROM {lease} INDEXED BY "
        "{lease_by_end} WHERE locked_until <= :run_now ORDER BY locked_until LIMIT " +
        limit + ")");
    // A row born leased that was never leased otherwise gets its lease row here, already marked.
    const std::size_t marked_born = steps.add(
        "INSERT INTO {lease} (seq, lease_id, locked_until, owner) "
        "SELECT m.seq, m.lease_id, -1, m.owner FROM {live} AS m INDEXED BY {live_born} "
        "WHERE m.born_until <= :run_now AND {free} ORDER BY m.born_until LIMIT max(0, " +
        limit + " - (SELECT count(*) FROM {lease} WHERE locked_until = -1))");
    std::vector<std::size_t> marks{marked, marked_born};
    // Waiting messages stay where they are. Before the move: what moves is counted there.
    steps.add_after(marks, R"(UPDATE {waiting}
           SET lost_count = lost_count + 1, available_at = :run_now
           WHERE state = 0 AND seq IN {lost})");
    steps.add_after(marks, R"(INSERT INTO {waiting} ({columns:live}, available_at, lost_count)
           SELECT {columns:live}, :run_now, 1 FROM {live} WHERE seq IN {lost})");
    steps.add_after(marks, "DELETE FROM {live} WHERE seq IN {lost}");
    return marks;
}

// {clock} has the time of the last claim, or one not long before. One that lies ahead means that
// the clock was put back, and whatever was given a time meanwhile would keep it for that much
// longer. Leases, also those that messages were born with, end as long after now as they were to
// last; a message that waits for another attempt may come early. What a user has asked for stays.
void follow_clock(Steps& steps) {
    const std::size_t behind = steps.add(
        "UPDATE {clock} SET back = seen - :run_now, seen = :run_now "
        "WHERE id = 1 AND seen > :run_now + 1000000");
    const std::string back = "(SELECT back FROM {clock} WHERE id = 1)";
    steps.add_after({behind}, "UPDATE {lease} SET locked_until = max(:run_now, locked_until - " +
                                  back + ") WHERE locked_until > :run_now");
    const auto wait_less = [&](const std::string& index, const std::string& band) {
        steps.add_after({behind}, "UPDATE {waiting} INDEXED BY " + index +
                                      " SET available_at = max(:run_now, coalesce(due_time, 0), "
                                      "available_at - " +
                                      back + ") WHERE state = 0 AND " + band +
                                      " AND available_at > :run_now "
                                      "AND retry_count + lost_count > 0");
    };
    wait_less("{waiting_due}", "priority >= 0 AND ordering_key IS NULL");
    wait_less("{waiting_low}", "priority < 0 AND ordering_key IS NULL");
    wait_less("{waiting_turn}", "behind = 0 AND ordering_key IS NOT NULL");
    steps.add_after({behind}, "UPDATE {live} SET born_until = max(:run_now, born_until - " + back +
                                  ") WHERE born_until > :run_now");
    steps.add_after({behind}, "UPDATE {clock} SET back = 0 WHERE id = 1");
}

// A claim that leases nothing notes the time once a minute only, so that it mostly writes nothing.
void note_clock(Steps& steps, const std::vector<std::size_t>& leased) {
    const std::string note =
        "UPDATE {clock} SET seen = :run_now WHERE id = 1 AND seen < :run_now - ";
    steps.add_after(leased, note + "1000000");
    steps.add(note + "60000000");
}

constexpr const char* forget_marked = "DELETE FROM {lease} WHERE seq IN {lost}";

// Each of these walks an index in the order wanted and stops at the limit.
constexpr const char* urgent = R"({live} AS m INDEXED BY {live_urgent} {with_lease}
    WHERE m.priority > 0 AND m.born_until IS NULL AND l.seq IS NULL
    ORDER BY m.priority DESC, m.seq)";
constexpr const char* fresh = R"({live} AS m NOT INDEXED {with_lease}
    WHERE m.seq > 0 AND m.born_until IS NULL AND l.seq IS NULL ORDER BY m.seq)";
constexpr const char* due = R"({waiting} AS m INDEXED BY {waiting_due} {with_lease}
    WHERE m.state = 0 AND m.priority >= 0 AND m.ordering_key IS NULL AND m.available_at <= :run_now
      AND l.seq IS NULL ORDER BY m.available_at, m.seq)";
constexpr const char* low = R"({waiting} AS m INDEXED BY {waiting_low} {with_lease}
    WHERE m.state = 0 AND m.priority < 0 AND m.ordering_key IS NULL AND m.available_at <= :run_now
      AND l.seq IS NULL ORDER BY m.available_at, m.seq)";
// One of each ordering key at most is not behind. A message may come to stand before one that is
// leased: then it waits.
constexpr const char* keyed = R"({waiting} AS m INDEXED BY {waiting_turn} {with_lease}
    WHERE m.state = 0 AND m.behind = 0 AND m.ordering_key IS NOT NULL AND m.available_at <= :run_now
      AND l.seq IS NULL
      AND NOT EXISTS (SELECT 1 FROM {lease} AS k WHERE k.ordering_key = m.ordering_key)
    ORDER BY m.available_at, m.seq)";

// The passes of queue/claim_passes.hpp. One whose ceiling is reached before it begins is left out:
// counting the leases is most of what it costs.
class Passes {
public:
    explicit Passes(Steps& steps) : steps_(steps) {}

    // Leases the messages that `from` finds, until as many are leased in all as `ceiling` says,
    // under the ordering key that they have. Returns the position.
    std::size_t lease(const char* from, const std::string& ceiling,
                      const std::string& ordering_key = "NULL") {
        const std::size_t at = steps_.add_up_to(
            ceiling, passes_,
            "INSERT INTO {lease} (seq, lease_id, locked_until, owner, ordering_key) "
            "SELECT m.seq, :lease_id, :run_now + :lease_us, :owner, " +
                ordering_key + " FROM " + from + " LIMIT max(0, :" + ceiling +
                " - (SELECT count(*) FROM {lease} INDEXED BY {lease_by_end} "
                "WHERE locked_until = :run_now + :lease_us AND lease_id = :lease_id))");
        passes_.push_back(at);
        return at;
    }

private:
    Steps& steps_;
    std::vector<std::size_t> passes_;
};

// The message rows under :lease_id: `columns` of `table`.
std::string leased_rows(Queue queue, const std::string& columns, const std::string& table) {
    const char* const join =
        queue == Queue::inbox
            ? "LEFT JOIN {key} AS k ON k.source = m.source AND k.message_id = m.message_id"
            : "";
    return "SELECT " + columns + " FROM {lease} AS l INDEXED BY {lease_by_end} CROSS JOIN " +
           table + " AS m ON m.seq = l.seq " + join +
           " WHERE l.locked_until = :run_now + :lease_us AND l.lease_id = :lease_id";
}

}  // namespace

sql::UnitText claim_text(Queue queue) {
    Steps steps;
    steps.add("BEGIN IMMEDIATE");
    follow_clock(steps);
    steps.add_after(take_back(steps, ":batch"), forget_marked);
    std::vector<std::size_t> live;
    std::vector<std::size_t> waiting;
    Passes passes(steps);
    const auto lease_keyed = [&](const char* ceiling) {
        waiting.push_back(passes.lease(keyed, ceiling, "m.ordering_key"));
    };
    live.push_back(passes.lease(urgent, "urgent_to"));
    lease_keyed("keyed_to");
    waiting.push_back(passes.lease(due, "due_to"));
    waiting.push_back(passes.lease(low, "low_to"));
    live.push_back(passes.lease(fresh, "batch"));
    lease_keyed("keyed_again_to");
    waiting.push_back(passes.lease(due, "batch"));
    lease_keyed("batch");
    waiting.push_back(passes.lease(low, "batch"));
    std::vector<std::size_t> leased = live;
    leased.insert(leased.end(), waiting.begin(), waiting.end());
    note_clock(steps, leased);
    steps.add("COMMIT");
    steps.add_after(live, leased_rows(queue, "{claimed_live}", "{live}"));
    steps.add_after(waiting, leased_rows(queue, "{claimed_waiting}", "{waiting}"));
    return steps.unit(true);
}

sql::UnitText reap_text() {
    Steps steps;
    take_back(steps, ":limit");
    // By now every message that was lost waits; a lease without a message does not count.
    steps.add("SELECT count(*) FROM {waiting} WHERE seq IN {lost}");
    steps.add(forget_marked);
    return steps.unit();
}

}  // namespace postroom::sqlite
