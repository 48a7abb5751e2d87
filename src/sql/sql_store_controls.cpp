// SqlStore: what operators do.
#include "postroom/operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "postroom/error.hpp"
#include "sql/sql_store.hpp"

namespace postroom::sql {

namespace {

// Between the transaction that takes the messages and the one that removes them.
constexpr Duration discard_lease = std::chrono::seconds{10};

Finding::Health health_of(const std::string& word) {
    return word == "ok"        ? Finding::Health::good
           : word == "warning" ? Finding::Health::warning
                               : Finding::Health::bad;
}

Finding plan_finding(const HealthCheckText& check, const SqlRows& rows) {
    for (const auto& row : rows) {
        for (const std::optional<std::string>& cell : row) {
            if (cell && cell->find(check.unwanted) != std::string::npos)
                return {.check = check.name,
                        .health = Finding::Health::warning,
                        .what = "without the help of an index: " + *cell};
        }
    }
    return {.check = check.name, .what = "by index"};
}

}  // namespace

std::vector<PausedTopic> SqlStore::paused_topics() {
    Batch batch;
    batch.add(units_.paused_topics);
    std::vector<PausedTopic> paused;
    runner_.run(
        nullptr, batch, false, [&] { paused.clear(); },
        [&](std::size_t, const Row& row) {
            paused.push_back({.topic = std::string(row.text(0)), .since = row.time(1)});
        });
    return paused;
}

void SqlStore::pause_topic(const std::string& topic) {
    NewMessage probe;
    probe.topic = TopicName(topic);
    probe.payload = "";
    validate(probe, limits());
    Batch batch;
    batch.add(units_.pause_topic).set("topic", std::string_view(topic));
    write(batch);
}

void SqlStore::resume_topic(const std::string& topic) {
    Batch batch;
    batch.add(units_.resume_topic).set("topic", std::string_view(topic));
    write(batch);
}

std::vector<Lease> SqlStore::lease_free(Queue queue, std::span<const WorkItemId> ids) {
    std::vector<Lease> leases;
    if (ids.empty()) return leases;
    std::map<std::uint64_t, WorkItemId> by_number;
    for (const WorkItemId& id : ids) by_number.emplace(id.seq(), id);
    std::vector<std::int64_t> seqs;
    std::vector<std::int64_t> nonces;
    for (const auto& [seq, id] : by_number) {
        seqs.push_back(static_cast<std::int64_t>(seq));
        nonces.push_back(static_cast<std::int64_t>(id.nonce()));
    }
    const LeaseId lease_id(static_cast<std::int64_t>(random_.next()));
    const Unit& hold = units_.of(queue).hold;
    Batch batch;
    batch.add(hold)
        .set("seqs", IntArray(seqs))
        .set("nonces", IntArray(nonces))
        .set("lease_id", lease_id.value())
        .set("owner", discard_owner().uuid())
        .set("lease_us", discard_lease.count());
    runner_.run(
        nullptr, batch, hold.separate, [&] { leases.clear(); },
        [&](std::size_t, const Row& row) {
            const WorkItemId& id = by_number.at(static_cast<std::uint64_t>(row.integer(0)));
            leases.push_back({.id = id, .lease_id = lease_id, .owner = discard_owner()});
        });
    return leases;
}

// Two transactions: claims wait for whoever takes leases, and must not wait for a client's ack.
std::uint64_t SqlStore::discard(Queue queue, std::span<const WorkItemId> ids) {
    std::vector<Settlement> acks;
    for (const Lease& lease : lease_free(queue, ids)) acks.push_back({.lease = lease});
    if (acks.empty()) return 0;
    const std::vector<Settled> settled = settle(nullptr, queue, acks);
    return static_cast<std::uint64_t>(std::count(settled.begin(), settled.end(), Settled::done));
}

// The error says it too: a library that does not know the reason shows it, and filters find it.
std::uint64_t SqlStore::set_aside(std::span<const WorkItemId> ids) {
    std::vector<Settlement> fails;
    for (const Lease& lease : lease_free(Queue::outbox, ids))
        fails.push_back({.lease = lease,
                         .outcome = Outcome::fail,
                         .error = "set aside when the database was restored",
                         .reason = DeadReason::restored,
                         .frees_key = true});
    if (fails.empty()) return 0;
    const std::vector<Settled> settled = settle(nullptr, Queue::outbox, fails);
    return static_cast<std::uint64_t>(std::count(settled.begin(), settled.end(), Settled::dead));
}

void SqlStore::hold_delivery(const std::string& why) { guard_.hold(runner_, home(), why, now()); }

void SqlStore::end_hold(const std::string& decision, const std::string& who) {
    guard_.end_hold(runner_, home(), {.what = decision, .who = who, .at = now()});
}

std::uint64_t SqlStore::retry_now(Queue queue, std::span<const WorkItemId> ids) {
    return change_these(units_.of(queue).retry_now, ids);
}

std::vector<Finding> SqlStore::examine() {
    std::vector<Finding> findings;
    for (const HealthCheckText& check : units_.health_checks) {
        try {
            const std::unique_ptr<Transaction> tx = begin();
            if (!check.before.empty()) tx->execute({.sql = check.before, .params = {}});
            const SqlRows rows = tx->execute({.sql = check.text, .params = {}});
            if (!check.unwanted.empty()) {
                findings.push_back(plan_finding(check, rows));
                continue;
            }
            for (const auto& row : rows)
                findings.push_back({.check = check.name,
                                    .health = health_of(row.at(0).value_or("")),
                                    .what = row.at(1).value_or("")});
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::rejected) throw;
            findings.push_back({.check = check.name,
                                .health = Finding::Health::warning,
                                .what = fmt::format("cannot look: {}", error.what())});
        }
    }
    return findings;
}

}  // namespace postroom::sql
