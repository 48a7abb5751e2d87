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

std::uint64_t SqlStore::discard(Queue queue, std::span<const WorkItemId> ids) {
    if (ids.empty()) return 0;
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
    // Two transactions: claims wait for whoever takes leases, and must not wait for a client's ack.
    std::vector<Settlement> acks;
    runner_.run(
        nullptr, batch, hold.separate, [&] { acks.clear(); },
        [&](std::size_t, const Row& row) {
            const WorkItemId& id = by_number.at(static_cast<std::uint64_t>(row.integer(0)));
            acks.push_back({.lease = {.id = id, .lease_id = lease_id, .owner = discard_owner()}});
        });
    const std::vector<Settled> settled = settle(nullptr, queue, acks);
    return static_cast<std::uint64_t>(std::count(settled.begin(), settled.end(), Settled::done));
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
