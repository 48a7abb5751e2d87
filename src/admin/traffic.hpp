// Traffic: how fast things went lately, from figures that are noted every few seconds.
//
// Rates are taken over a rolling window of a minute, shorter after a start. The series has a point
// for each note of the last ten minutes.
//
// Thread safety: all of it may be called concurrently.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/store_metrics.hpp"

namespace postroom::admin {

struct Rates {
    double delivered = 0;  // per second
    double failed = 0;
    double dead = 0;
};

struct Percentiles {
    Duration p50{};
    Duration p99{};
};

struct QueueTraffic {
    Rates rates{};
    double failure_ratio = 0;
    std::optional<Percentiles> latency{};  // none: nothing was delivered
    // By what was delivered and how the backlog changed; none until that is known.
    std::optional<double> arriving{};
    Duration window{};
};

struct TrafficPoint {
    Instant at{};
    Rates rates{};
    std::optional<std::uint64_t> backlog{};
    std::optional<Percentiles> latency{};
};

// Messages that wait or are on their way, as 004 counts them.
std::uint64_t backlog_of(const Counts& counts);

// By interpolation within the buckets; nullopt for an empty histogram.
std::optional<Percentiles> percentiles_of(const LatencyHistogram& histogram);

class Traffic {
public:
    using QueueKey = std::pair<std::string, Queue>;
    using TopicKey = std::tuple<std::string, Queue, std::string>;
    using DestinationKey = std::pair<std::string, std::string>;  // store and destination

    // Notes the figures as they are at `now`.
    void note(Instant now, const StoreMetrics& metrics);

    std::map<QueueKey, QueueTraffic> queues() const;
    std::map<TopicKey, Rates> topics() const;
    // How long deliveries to each destination took, of all stores together; without those that had
    // none.
    std::map<std::string, Percentiles> destinations() const;
    std::vector<TrafficPoint> series() const;

private:
    struct Note {
        Instant at{};
        std::map<QueueKey, MetricsSnapshot> queues{};
        std::map<QueueKey, std::uint64_t> backlogs{};
        std::map<TopicKey, TopicFigures> topics{};
        std::map<DestinationKey, LatencyHistogram> destinations{};
    };
    void add_point(const Note& before, const Note& now) POSTROOM_REQUIRES(mutex_);

    mutable base::Mutex mutex_;
    std::deque<Note> notes_ POSTROOM_GUARDED_BY(mutex_);
    std::deque<TrafficPoint> series_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom::admin
