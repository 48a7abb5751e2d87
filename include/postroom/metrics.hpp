// Metrics: counts what happens to messages, for whoever wants to show it.
//
// Counters start at zero with the object and only grow; gauges show what was told last. Nothing is
// read from the database: how many messages lie in a store is told by Store::counts().
//
// With several stores behind one Metrics the counters are their sum, and a gauge is of the store
// that spoke last; give each store a Metrics of its own to tell them apart.
//
// Thread safety: all of it may be called from many threads at once. The members of a snapshot are
// read one after the other, so that events of that moment may be in one and not yet in the next.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "postroom/observer.hpp"

namespace postroom {

// Upper ends, inclusive, of the buckets of LatencyHistogram; what took longer is in one more.
inline constexpr std::array<Duration, 15> latency_bucket_bounds{
    std::chrono::milliseconds{1},   std::chrono::microseconds{2500}, std::chrono::milliseconds{5},
    std::chrono::milliseconds{10},  std::chrono::milliseconds{25},   std::chrono::milliseconds{50},
    std::chrono::milliseconds{100}, std::chrono::milliseconds{250},  std::chrono::milliseconds{500},
    std::chrono::seconds{1},        std::chrono::milliseconds{2500}, std::chrono::seconds{5},
    std::chrono::seconds{10},       std::chrono::seconds{30},        std::chrono::seconds{60}};

// How long the deliveries took that went well.
struct LatencyHistogram {
    // Each bucket for itself: not including the smaller ones.
    std::array<std::uint64_t, latency_bucket_bounds.size() + 1> counts{};
    Duration sum{};

    std::uint64_t count() const;
    friend bool operator==(const LatencyHistogram&, const LatencyHistogram&) = default;
};

// The figures of one queue.
struct MetricsSnapshot {
    std::uint64_t enqueued = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t hash_mismatches = 0;
    std::uint64_t hot_enqueued = 0;
    std::uint64_t hot_dropped = 0;
    std::uint64_t cold_enqueued = 0;
    std::uint64_t claims = 0;
    std::uint64_t empty_claims = 0;  // of `claims`: returned nothing
    std::uint64_t dispatch_success = 0;
    std::uint64_t dispatch_failure = 0;  // will be tried again
    std::uint64_t dispatch_dead = 0;     // will not; not in dispatch_failure
    std::uint64_t released = 0;
    std::uint64_t unroutable = 0;
    std::uint64_t lost = 0;
    std::uint64_t stale_settles = 0;  // of `lost`: an outcome that came too late
    std::uint64_t reaped = 0;
    std::uint64_t purged = 0;
    std::uint64_t circuit_opened = 0;
    std::uint64_t interceptor_failures = 0;
    std::uint64_t store_failures = 0;

    std::uint64_t hot_depth = 0;
    std::uint64_t cold_depth = 0;
    std::uint64_t hot_capacity = 0;
    std::uint64_t cold_capacity = 0;
    std::uint64_t in_flight = 0;  // leases held
    Duration oldest_lag{};

    LatencyHistogram latency{};

    friend bool operator==(const MetricsSnapshot&, const MetricsSnapshot&) = default;
};

// A snapshot and when it was taken.
struct TimedSnapshot {
    Instant at{};
    MetricsSnapshot figures{};
};

// Failures (dead ones too) of all outcomes: from 0 to 1, and 0 when there were no outcomes. The
// second form looks only at what happened between two snapshots.
double failure_ratio(const MetricsSnapshot& figures);
double failure_ratio(const MetricsSnapshot& earlier, const MetricsSnapshot& later);

// Messages delivered per second; 0 when no time lies between the two.
double throughput(const TimedSnapshot& earlier, const TimedSnapshot& later);

class Metrics final : public Observer {
public:
    void observe(const Event& event) noexcept override;

    MetricsSnapshot snapshot(Queue queue) const;

private:
    using Number = std::atomic<std::uint64_t>;

    // As in MetricsSnapshot; durations in microseconds. Outbox and inbox do not share a cache line.
    struct alignas(64) Figures {
        Number enqueued{}, duplicates{}, hash_mismatches{};
        Number hot_enqueued{}, hot_dropped{}, cold_enqueued{};
        Number claims{}, empty_claims{};
        Number dispatch_success{}, dispatch_failure{}, dispatch_dead{};
        Number released{}, unroutable{}, lost{}, stale_settles{};
        Number reaped{}, purged{};
        Number circuit_opened{}, interceptor_failures{}, store_failures{};
        Number hot_depth{}, cold_depth{}, hot_capacity{}, cold_capacity{}, in_flight{};
        Number oldest_lag{};
        std::array<Number, latency_bucket_bounds.size() + 1> latency_counts{};
        Number latency_sum{};
    };

    static void count(Figures& figures, const Event& event) noexcept;
    static void count_delivered(Figures& figures, Duration took) noexcept;

    Figures outbox_{};
    Figures inbox_{};
};

}  // namespace postroom
