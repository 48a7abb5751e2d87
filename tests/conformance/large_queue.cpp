#include "conformance/large_queue.hpp"

#include <fmt/format.h>

#include <chrono>

namespace postroom::test {

namespace {

constexpr std::uint64_t week_seconds = 7 * 86'400;

// The columns that every table has, and their values for the number n.
constexpr const char* common_columns =
    "nonce, created_at, message_id, topic, tenant_id, correlation_id, aggregate_type, payload";

std::string common_values(const SqlSandbox& sandbox, const std::string& created_at,
                          std::uint64_t first) {
    return fmt::format(
        "n * 7919, {}, {}, {}, CASE WHEN n < {} + 3 THEN '{}' ELSE {} END, {}, CASE WHEN n < {} + "
        "3 "
        "THEN '{}' ELSE '__GLOBAL__' END, {}",
        created_at, sandbox.joined({"'m-'", "n"}), sandbox.joined({"'topic.'", "n % 20"}), first,
        LargeQueue::rare_tenant, sandbox.joined({"'tenant-'", "n % 50"}),
        sandbox.joined({"'c-'", "n"}), first, LargeQueue::rare_type,
        sandbox.payload("{\"order_id\": 17}"));
}

}  // namespace

LargeQueue::LargeQueue(SqlSandbox& sandbox, std::uint64_t pending)
    : sandbox_(sandbox), pending_(pending) {
    if (sandbox_.one_table()) {
        fill_one_table();
    } else {
        // First of all: those that wait have numbers that were drawn.
        sandbox_.sql(sandbox_.number_from(last_waiting() + 1));
        fill_history();
        fill_waiting();
        fill_live();
        fill_keys();
    }
    sandbox_.gather_statistics();
}

std::string LargeQueue::table(const std::string& name) const {
    return sandbox_.table("infra", name);
}

// A table with the numbers from `first` to `last` in the column n, put together from their digits.
std::string LargeQueue::numbers(std::uint64_t first, std::uint64_t last) const {
    const std::string digits =
        "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT "
        "4 "
        "UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL "
        "SELECT 9)";
    std::string sum = "(9000000000 - 9000000000)";  // wide enough for what is made of it
    std::string from;
    std::uint64_t power = 1;
    for (int i = 0; power <= last - first; ++i, power *= 10) {
        sum += fmt::format(" + {} * d{}.d", power, i);
        from += fmt::format("{}{} d{}", from.empty() ? "" : " CROSS JOIN ", digits, i);
    }
    return fmt::format("(SELECT {} + {} AS n FROM {} WHERE {} <= {}) numbers", first, sum, from,
                       sum, last - first);
}

// The last was created an hour ago.
std::string LargeQueue::created_at() const {
    return sandbox_.seconds_ago(
        fmt::format("3600 + ({} - n) * {} / {}", last(), week_seconds, last()));
}

void LargeQueue::fill_history() {
    const std::string done = table("outbox_done");
    // Some engines keep the time at which a message became available.
    const bool available = understood("SELECT available_at FROM " + done + " WHERE seq = -1");
    const std::string at = created_at();
    sandbox_.sql(fmt::format(
        "INSERT INTO {} (seq, {}, processed_at, priority, retry_count, lost_count, content_type{}) "
        "SELECT n, {}, {}, 0, 0, 0, 'application/json'{} FROM {} ORDER BY n",
        done, common_columns, available ? ", available_at" : "", common_values(sandbox_, at, 1), at,
        available ? ", " + at : "", numbers(1, last_delivered())));
}

// Of ten one is dead, five are retrying and four stand in line.
void LargeQueue::fill_waiting() {
    const std::uint64_t first = last_delivered() + 1;
    sandbox_.sql(fmt::format(
        "INSERT INTO {} (seq, {}, available_at, state, retry_count, ordering_key, last_error) "
        "SELECT n, {}, {}, CASE WHEN n % 10 = 0 THEN 3 ELSE 0 END, "
        "CASE WHEN n % 10 < 6 THEN 1 ELSE 0 END, CASE WHEN n % 10 > 5 THEN {} END, "
        "CASE WHEN n < {} + 3 THEN '{}' WHEN n % 10 < 6 THEN 'answered {}' END FROM {} ORDER BY n",
        table("outbox_waiting"), common_columns, common_values(sandbox_, created_at(), first),
        sandbox_.seconds_ago("-3600"), sandbox_.joined({"'k-'", "n % 1000"}), first, rare_error,
        common_error, numbers(first, last_waiting())));
}

void LargeQueue::fill_live() {
    const std::uint64_t first = last_waiting() + 1;
    sandbox_.sql(fmt::format("INSERT INTO {} ({}) SELECT {} FROM {} ORDER BY n",
                             table("outbox_live"), common_columns,
                             common_values(sandbox_, created_at(), first), numbers(first, last())));
}

void LargeQueue::fill_keys() {
    sandbox_.sql(fmt::format(
        "INSERT INTO {} (tenant_id, idempotency_key, seq, nonce, message_id, created_at) "
        "SELECT {}, {}, n, n * 7919, {}, {} FROM {} WHERE n % {} = {}",
        table("outbox_key"), sandbox_.joined({"'tenant-'", "n % 50"}),
        sandbox_.joined({"'m-'", "n"}), sandbox_.joined({"'m-'", "n"}), created_at(),
        numbers(1, last()), key_every, key_at));
}

void LargeQueue::fill_one_table() {
    const std::string state =
        fmt::format("CASE WHEN n <= {} THEN 2 WHEN n <= {} AND n % 10 = 0 THEN 3 ELSE 0 END",
                    last_delivered(), last_waiting());
    const std::string waits = fmt::format("n > {} AND n <= {}", last_delivered(), last_waiting());
    sandbox_.sql(fmt::format(
        "INSERT INTO {0} ({1}, state, waits, retry_count, ordering_key, last_error, processed_at) "
        "SELECT {2}, {3}, CASE WHEN {4} THEN 1 ELSE 0 END, "
        "CASE WHEN {4} AND n % 10 < 6 THEN 1 ELSE 0 END, "
        "CASE WHEN {4} AND n % 10 > 5 THEN {5} END, "
        "CASE WHEN {4} AND n < {6} + 4 THEN '{7}' WHEN {4} AND n % 10 < 6 THEN 'answered {8}' END, "
        "CASE WHEN n <= {6} THEN {9} END FROM {10} ORDER BY n",
        table(sandbox_.message_table()), common_columns, common_values(sandbox_, created_at(), 1),
        state, waits, sandbox_.joined({"'k-'", "n % 1000"}), last_delivered(), rare_error,
        common_error, created_at(), numbers(1, last())));
}

bool LargeQueue::understood(const std::string& query) {
    try {
        sandbox_.sql(query);
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

void LargeQueue::rename(std::uint64_t seq, const std::string& message_id) {
    const auto in = [&](const std::string& name) {
        sandbox_.sql(fmt::format("UPDATE {} SET message_id = '{}' WHERE seq = {}", table(name),
                                 message_id, seq));
    };
    if (sandbox_.one_table()) return in(sandbox_.message_table());
    in(seq <= last_delivered() ? "outbox_done"
       : seq <= last_waiting() ? "outbox_waiting"
                               : "outbox_live");
}

}  // namespace postroom::test
