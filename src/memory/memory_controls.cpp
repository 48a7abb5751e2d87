// MemoryStore: what operators do.
#include "memory/memory_core.hpp"
#include "postroom/testing.hpp"

namespace postroom {

std::vector<PausedTopic> MemoryStore::paused_topics() { return core_->records.paused_topics(); }

void MemoryStore::pause_topic(const std::string& topic) {
    validate(NewMessage{.topic = TopicName(topic), .payload = ""}, limits());
    core_->records.pause_topic(topic, now());
}

void MemoryStore::resume_topic(const std::string& topic) { core_->records.resume_topic(topic); }

std::uint64_t MemoryStore::discard(Queue queue, std::span<const WorkItemId> ids) {
    const LeaseId lease_id = core_->new_lease_id();
    return core_->database.run([&](MemoryTables& tables, Instant now) {
        std::uint64_t discarded = 0;
        for (const WorkItemId& id : ids) {
            const Lease lease{
                .id = id, .lease_id = lease_id, .owner = discard_owner(), .locked_until = now};
            if (!tables.queue(queue).hold(lease, now)) continue;
            tables.queue(queue).settle({.lease = lease, .outcome = Outcome::ack}, now);
            ++discarded;
        }
        return discarded;
    });
}

std::uint64_t MemoryStore::retry_now(Queue queue, std::span<const WorkItemId> ids) {
    return core_->database.run([&](MemoryTables& tables, Instant now) {
        std::uint64_t count = 0;
        for (const WorkItemId& id : ids) count += tables.queue(queue).retry_now(id, now) ? 1 : 0;
        return count;
    });
}

void MemoryStore::report_worker(const WorkerReport& report) {
    core_->records.report_worker(report, now());
}

void MemoryStore::forget_worker(const OwnerToken& owner, Queue queue) {
    core_->records.forget_worker(owner, queue);
}

std::vector<WorkerReport> MemoryStore::workers() { return core_->records.workers(now()); }

void MemoryStore::note_repeat(const std::string& source, Repeat what) {
    core_->repeats.note(source, what);
}

std::vector<SourceRepeats> MemoryStore::repeats() const { return core_->repeats.list(); }

std::vector<FailedAttempt> MemoryStore::attempts(Queue queue, const WorkItemId& id) {
    return core_->database.run(
        [&](MemoryTables& tables, Instant) { return tables.queue(queue).attempts(id); });
}

void MemoryStore::record_audit(const AuditEntry& entry) {
    core_->records.record_audit(entry, now());
}

std::vector<AuditEntry> MemoryStore::audit_log(std::uint64_t before_id, std::uint32_t limit) {
    return core_->records.audit_log(before_id, limit);
}

// There is no database below that could be set up badly.
std::vector<Finding> MemoryStore::examine() { return {}; }

}  // namespace postroom
