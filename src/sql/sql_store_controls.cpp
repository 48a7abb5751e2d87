// SqlStore: what operators do.
#include "postroom/store_controls.hpp"

#include <fmt/format.h>

#include "postroom/error.hpp"
#include "sql/sql_store.hpp"

namespace postroom::sql {

namespace {

// The lease of a discarded message lives as long as the transaction that takes and ends it.
constexpr Duration discard_lease = std::chrono::seconds{1};

Finding::Health health_of(const std::string& word) {
    return word == "ok"        ? Finding::Health::good
           : word == "warning" ? Finding::Health::warning
                               : Finding::Health::bad;
}

Finding plan_finding(const ExamText& exam, const SqlRows& rows) {
    for (const auto& row : rows) {
        for (const std::optional<std::string>& cell : row) {
            if (cell && cell->find(exam.unwanted) != std::string::npos)
                return {.check = exam.check,
                        .health = Finding::Health::warning,
                        .what = "without the help of an index: " + *cell};
        }
    }
    return {.check = exam.check, .what = "by index"};
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
    runner_.run(
        nullptr, batch, false, [] {}, [](std::size_t, const Row&) {});
}

void SqlStore::resume_topic(const std::string& topic) {
    Batch batch;
    batch.add(units_.resume_topic).set("topic", std::string_view(topic));
    runner_.run(
        nullptr, batch, false, [] {}, [](std::size_t, const Row&) {});
}

std::uint64_t SqlStore::discard(Queue queue, std::span<const WorkItemId> ids) {
    if (ids.empty()) return 0;
    std::vector<std::int64_t> seqs;
    std::vector<std::int64_t> nonces;
    for (const WorkItemId& id : ids) {
        seqs.push_back(static_cast<std::int64_t>(id.seq()));
        nonces.push_back(static_cast<std::int64_t>(id.nonce()));
    }
    const auto lease_id = static_cast<std::int64_t>(random_.next());
    const auto fill = [&](Params& params) {
        params.set("seqs", IntArray(seqs))
            .set("nonces", IntArray(nonces))
            .set("lease_id", lease_id)
            .set("owner", discard_owner().uuid())
            .set("lease_us", discard_lease.count())
            .set("keep_history", std::int64_t{options_.keep_history ? 1 : 0});
    };
    constexpr std::size_t removed = 1;
    Batch batch;
    fill(batch.add(units_.of(queue).hold));
    fill(batch.add(units_.of(queue).ack, removed));
    std::uint64_t count = 0;
    runner_.run(
        nullptr, batch, false, [&] { count = 0; },
        [&](std::size_t tag, const Row&) { count += tag == removed ? 1 : 0; });
    return count;
}

std::vector<Finding> SqlStore::examine() {
    std::vector<Finding> findings;
    for (const ExamText& exam : units_.exams) {
        try {
            const std::unique_ptr<Transaction> tx = begin();
            if (!exam.before.empty()) tx->execute({.sql = exam.before, .params = {}});
            const SqlRows rows = tx->execute({.sql = exam.text, .params = {}});
            if (!exam.unwanted.empty()) {
                findings.push_back(plan_finding(exam, rows));
                continue;
            }
            for (const auto& row : rows)
                findings.push_back({.check = exam.check,
                                    .health = health_of(row.at(0).value_or("")),
                                    .what = row.at(1).value_or("")});
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::rejected) throw;
            findings.push_back({.check = exam.check,
                                .health = Finding::Health::warning,
                                .what = fmt::format("cannot look: {}", error.what())});
        }
    }
    return findings;
}

}  // namespace postroom::sql
