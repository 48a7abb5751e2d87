// MemoryStore::Core: what lies behind a MemoryStore, for the files that implement it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "memory/memory_database.hpp"
#include "memory/memory_doorbell.hpp"
#include "memory/memory_records.hpp"
#include "postroom/testing.hpp"
#include "queue/repeats.hpp"

namespace postroom {

class MemoryStore::Core {
public:
    // Without a `clock`: the machine's.
    Core(const Clock* clock, const OpenOptions& options, std::optional<std::uint64_t> seed)
        : clock_used(clock != nullptr ? *clock : system_clock),
          random(make_random(seed)),
          database(clock_used, options) {}

    // Numbers are handed out at once and never again, as a database does: a rollback leaves a gap.
    std::vector<WorkItemId> new_ids(Queue queue, std::size_t count) {
        auto& last_seq = queue == Queue::outbox ? last_outbox_seq : last_inbox_seq;
        std::vector<WorkItemId> ids;
        while (ids.size() < count) ids.emplace_back(++last_seq, random->next());
        return ids;
    }

    LeaseId new_lease_id() { return LeaseId{static_cast<std::int64_t>(random->next())}; }

    static std::unique_ptr<Random> make_random(std::optional<std::uint64_t> seed) {
        if (seed) return std::make_unique<base::SeededRandom>(*seed);
        return std::make_unique<base::SystemRandom>();
    }

    const SystemClock system_clock;
    const Clock& clock_used;
    const std::unique_ptr<Random> random;
    std::array<MemoryBell, 2> bells;
    std::atomic<std::uint64_t> last_outbox_seq = 0;
    std::atomic<std::uint64_t> last_inbox_seq = 0;
    MemoryDatabase database;
    MemoryRecords records;
    Repeats repeats;
};

}  // namespace postroom
