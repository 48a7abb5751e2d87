// SqlStore: the records that operators read.
#include <algorithm>
#include <limits>

#include "queue/record_json.hpp"
#include "sql/sql_store.hpp"

namespace postroom::sql {

namespace {

// After this long a row of one that stopped without a word is cleared away.
constexpr Duration worker_kept = std::chrono::hours{24};

std::int64_t code_of(Queue queue) { return queue == Queue::outbox ? 0 : 1; }
Queue queue_of(std::int64_t code) { return code == 0 ? Queue::outbox : Queue::inbox; }

bool is_idle(const WorkerReport& report) {
    return report.in_hand == 0 && report.circuits.empty() && report.delivered_per_second == 0 &&
           report.failed_per_second == 0;
}

}  // namespace

void SqlStore::write(const Batch& batch) {
    runner_.run(
        nullptr, batch, false, [] {}, [](std::size_t, const Row&) {});
}

void SqlStore::report_worker(const WorkerReport& report) {
    const std::string text = to_json(report);
    Batch batch;
    batch.add(units_.report_worker)
        .set("owner", report.owner.uuid())
        .set("queue", code_of(report.queue))
        .set("report", std::string_view(text))
        .set("long_ago", SystemClock().now() - worker_kept);
    write(batch);
    if (!is_idle(report) || units_.come_to_rest.statements.empty()) return;
    Batch rest;
    rest.add(units_.come_to_rest);
    try {
        runner_.run(
            nullptr, rest, units_.come_to_rest.separate, [] {}, [](std::size_t, const Row&) {});
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it saves work and changes nothing
    }
}

void SqlStore::forget_worker(const OwnerToken& owner, Queue queue) {
    Batch batch;
    batch.add(units_.forget_worker).set("owner", owner.uuid()).set("queue", code_of(queue));
    write(batch);
}

std::vector<WorkerReport> SqlStore::workers() {
    const Instant at = now();
    Batch batch;
    batch.add(units_.workers);
    std::vector<WorkerReport> at_work;
    runner_.run(
        nullptr, batch, false, [&] { at_work.clear(); },
        [&](std::size_t, const Row& row) {
            WorkerReport& worker = at_work.emplace_back();
            worker.owner = OwnerToken(row.uuid(0));
            worker.queue = queue_of(row.integer(1));
            worker.last_seen = row.time(2);
            read_json(worker, row.text(3));
        });
    std::erase_if(at_work, [&](const WorkerReport& worker) { return is_silent(worker, at); });
    std::sort(at_work.begin(), at_work.end(), started_before);
    return at_work;
}

std::vector<FailedAttempt> SqlStore::attempts(Queue queue, const WorkItemId& id) {
    Batch batch;
    batch.add(units_.of(queue).attempts)
        .set("seq", static_cast<std::int64_t>(id.seq()))
        .set("nonce", static_cast<std::int64_t>(id.nonce()));
    std::vector<FailedAttempt> found;
    runner_.run(
        nullptr, batch, false, [&] { found.clear(); },
        [&](std::size_t, const Row& row) { found = attempts_from_json(row.text(0)); });
    return found;
}

void SqlStore::record_audit(const AuditEntry& entry) {
    Batch batch;
    batch.add(units_.record_audit)
        .set("who", std::string_view(entry.who))
        .set("what", std::string_view(entry.what))
        .set("target", std::string_view(entry.target))
        .set("affected", static_cast<std::int64_t>(entry.count))
        .set("outcome", std::string_view(entry.outcome));
    write(batch);
}

std::vector<AuditEntry> SqlStore::audit_log(std::uint64_t before_id, std::uint32_t limit) {
    Batch batch;
    batch.add(units_.audit_log)
        .set("before_id", before_id == 0 ? std::numeric_limits<std::int64_t>::max()
                                         : static_cast<std::int64_t>(before_id))
        .set("limit", std::int64_t{limit});
    std::vector<AuditEntry> entries;
    runner_.run(
        nullptr, batch, false, [&] { entries.clear(); },
        [&](std::size_t, const Row& row) {
            entries.push_back({.id = static_cast<std::uint64_t>(row.integer(0)),
                               .at = row.time(1),
                               .who = std::string(row.text(2)),
                               .what = std::string(row.text(3)),
                               .target = std::string(row.text(4)),
                               .count = static_cast<std::uint64_t>(row.integer(5)),
                               .outcome = std::string(row.text(6))});
        });
    return entries;
}

}  // namespace postroom::sql
