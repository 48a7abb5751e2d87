// MemoryRecords: what a MemoryStore keeps beside its queues: paused topics, who is at work, the
// audit log.
//
// Thread safety: all operations may be called concurrently.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/operator.hpp"

namespace postroom {

class MemoryRecords {
public:
    // See StoreControls for what these do.
    std::vector<PausedTopic> paused_topics() const;
    void pause_topic(const std::string& topic, Instant now);
    void resume_topic(const std::string& topic);

    void report_worker(WorkerReport report, Instant now);
    void forget_worker(const OwnerToken& owner, Queue queue);
    std::vector<WorkerReport> workers(Instant now) const;

    void record_audit(AuditEntry entry, Instant now);
    std::vector<AuditEntry> audit_log(std::uint64_t before_id, std::uint32_t limit) const;

private:
    mutable base::Mutex mutex_;
    std::map<std::string, Instant> paused_ POSTROOM_GUARDED_BY(mutex_);
    std::map<std::pair<OwnerToken, Queue>, WorkerReport> workers_ POSTROOM_GUARDED_BY(mutex_);
    std::vector<AuditEntry> audit_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom
