// What StoreMetrics knows of each store, as values: copied under its lock, written out without it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "observe/exposition.hpp"
#include "postroom/store_metrics.hpp"

namespace postroom {

inline constexpr std::array both_queues{Queue::outbox, Queue::inbox};

struct TopicCounters {
    std::string destination{};
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;
    std::uint64_t dead = 0;
};

struct DestinationCounters {
    bool open = false;
    std::uint64_t times_opened = 0;
};

struct QueueCounters {
    std::map<std::string, TopicCounters, std::less<>> topics{};
    std::map<std::string, DestinationCounters, std::less<>> destinations{};  // that were ever down
    std::map<std::string, Histogram, std::less<>> sends{};                   // by destination
    Histogram claim{};
    Histogram end_to_end{};
    MetricsSnapshot counted{};
};

struct StoreCounters {
    std::array<QueueCounters, both_queues.size()> queues{};
    std::optional<StoreSample> sample{};
    std::optional<int> schema_version{};

    QueueCounters& of(Queue queue) { return queues[static_cast<std::size_t>(queue)]; }
    const QueueCounters& of(Queue queue) const { return queues[static_cast<std::size_t>(queue)]; }
};

using StoresCounters = std::map<std::string, StoreCounters, std::less<>>;

// In the text format of Prometheus. `version` is the program's.
std::string prometheus_text(const StoresCounters& stores, const std::string& version);

}  // namespace postroom
