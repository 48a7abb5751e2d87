#include "memory/memory_records.hpp"

#include <algorithm>

namespace postroom {

std::vector<PausedTopic> MemoryRecords::paused_topics() const {
    const base::MutexLock lock(mutex_);
    std::vector<PausedTopic> paused;
    for (const auto& [topic, since] : paused_) paused.push_back({.topic = topic, .since = since});
    return paused;
}

void MemoryRecords::pause_topic(const std::string& topic, Instant now) {
    const base::MutexLock lock(mutex_);
    paused_.emplace(topic, now);
}

void MemoryRecords::resume_topic(const std::string& topic) {
    const base::MutexLock lock(mutex_);
    paused_.erase(topic);
}

void MemoryRecords::report_worker(WorkerReport report, Instant now) {
    shift_times(report, now - report.last_seen);
    const base::MutexLock lock(mutex_);
    std::erase_if(workers_, [&](const auto& worker) { return is_silent(worker.second, now); });
    workers_.insert_or_assign({report.owner, report.queue}, std::move(report));
}

void MemoryRecords::forget_worker(const OwnerToken& owner, Queue queue) {
    const base::MutexLock lock(mutex_);
    workers_.erase({owner, queue});
}

std::vector<WorkerReport> MemoryRecords::workers(Instant now) const {
    const base::MutexLock lock(mutex_);
    std::vector<WorkerReport> at_work;
    for (const auto& [key, report] : workers_)
        if (!is_silent(report, now)) at_work.push_back(report);
    std::sort(at_work.begin(), at_work.end(), started_before);
    return at_work;
}

void MemoryRecords::record_audit(AuditEntry entry, Instant now) {
    const base::MutexLock lock(mutex_);
    entry.id = audit_.size() + 1;
    entry.at = now;
    audit_.push_back(std::move(entry));
}

std::vector<AuditEntry> MemoryRecords::audit_log(std::uint64_t before_id,
                                                 std::uint32_t limit) const {
    const base::MutexLock lock(mutex_);
    std::vector<AuditEntry> newest;
    for (auto entry = audit_.rbegin(); entry != audit_.rend() && newest.size() < limit; ++entry)
        if (before_id == 0 || entry->id < before_id) newest.push_back(*entry);
    return newest;
}

}  // namespace postroom
