#include "postroom/metrics.hpp"

#include <algorithm>
#include <numeric>

namespace postroom {

namespace {

using Number = std::atomic<std::uint64_t>;

// Relaxed: each figure stands for itself, none is a sign that something else has been written.
void add(Number& number, std::uint64_t amount = 1) noexcept {
    number.fetch_add(amount, std::memory_order_relaxed);
}

void set(Number& number, std::uint64_t value) noexcept {
    number.store(value, std::memory_order_relaxed);
}

std::uint64_t get(const Number& number) noexcept { return number.load(std::memory_order_relaxed); }

// A clock that was set back must not show as an age of half a million years.
std::uint64_t microseconds(Duration duration) noexcept {
    return static_cast<std::uint64_t>(std::max(duration, Duration{}).count());
}

Duration duration(const Number& microseconds) noexcept {
    return Duration{static_cast<Duration::rep>(get(microseconds))};
}

double ratio(std::uint64_t part, std::uint64_t rest) {
    const std::uint64_t whole = part + rest;
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t failures(const MetricsSnapshot& figures) {
    return figures.dispatch_failure + figures.dispatch_dead;
}

}  // namespace

std::uint64_t LatencyHistogram::count() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

double failure_ratio(const MetricsSnapshot& figures) { return failure_ratio({}, figures); }

double failure_ratio(const MetricsSnapshot& earlier, const MetricsSnapshot& later) {
    return ratio(failures(later) - failures(earlier),
                 later.dispatch_success - earlier.dispatch_success);
}

double throughput(const TimedSnapshot& earlier, const TimedSnapshot& later) {
    const std::chrono::duration<double> elapsed = later.at - earlier.at;
    if (elapsed.count() <= 0.0) return 0.0;
    const std::uint64_t delivered =
        later.figures.dispatch_success - earlier.figures.dispatch_success;
    return static_cast<double>(delivered) / elapsed.count();
}

void Metrics::observe(const Event& event) noexcept {
    count(event.queue == Queue::outbox ? outbox_ : inbox_, event);
}

void Metrics::count(Figures& figures, const Event& event) noexcept {
    switch (event.kind) {
        case EventKind::enqueued:
            return add(figures.enqueued, event.message != nullptr ? 1 : event.count);
        case EventKind::duplicate:
            return add(figures.duplicates);
        case EventKind::hot_enqueued:
            return add(figures.hot_enqueued, event.count);
        case EventKind::hot_dropped:
            return add(figures.hot_dropped, event.count);
        case EventKind::cold_enqueued:
            return add(figures.cold_enqueued, event.count);
        case EventKind::claimed:
            add(figures.claims);
            return add(figures.empty_claims, event.count == 0 ? 1 : 0);
        case EventKind::checked:
        case EventKind::started:
            return;  // what comes of it is counted
        case EventKind::delivered:
            return count_delivered(figures, event.duration);
        case EventKind::retried:
            return add(figures.dispatch_failure);
        case EventKind::dead:
            return add(figures.dispatch_dead);
        case EventKind::released:
            return add(figures.released);
        case EventKind::unroutable:
            return add(figures.unroutable);
        case EventKind::lost:
            add(figures.lost);
            return add(figures.stale_settles, event.operation == "settle" ? 1 : 0);
        case EventKind::reaped:
            return add(figures.reaped, event.count);
        case EventKind::purged:
            return add(figures.purged, event.count);
        case EventKind::circuit_opened:
            return add(figures.circuit_opened);
        case EventKind::circuit_closed:
        case EventKind::store_waits:
            return;
        case EventKind::interceptor_failed:
            return add(figures.interceptor_failures);
        case EventKind::hash_mismatch:
            return add(figures.hash_mismatches);
        case EventKind::store_failed:
            return add(figures.store_failures);
        case EventKind::queue_depths:
            set(figures.hot_depth, event.hot_depth);
            set(figures.cold_depth, event.cold_depth);
            set(figures.hot_capacity, event.hot_capacity);
            set(figures.cold_capacity, event.cold_capacity);
            return set(figures.in_flight, event.in_flight);
        case EventKind::oldest_lag:
            return set(figures.oldest_lag, microseconds(event.duration));
    }
}

void Metrics::count_delivered(Figures& figures, Duration took) noexcept {
    const auto bound =
        std::lower_bound(latency_bucket_bounds.begin(), latency_bucket_bounds.end(), took);
    const auto bucket = static_cast<std::size_t>(bound - latency_bucket_bounds.begin());
    add(figures.dispatch_success);
    add(figures.latency_counts[bucket]);
    add(figures.latency_sum, microseconds(took));
}

MetricsSnapshot Metrics::snapshot(Queue queue) const {
    const Figures& from = queue == Queue::outbox ? outbox_ : inbox_;
    MetricsSnapshot snapshot{
        .enqueued = get(from.enqueued),
        .duplicates = get(from.duplicates),
        .hash_mismatches = get(from.hash_mismatches),
        .hot_enqueued = get(from.hot_enqueued),
        .hot_dropped = get(from.hot_dropped),
        .cold_enqueued = get(from.cold_enqueued),
        .claims = get(from.claims),
        .empty_claims = get(from.empty_claims),
        .dispatch_success = get(from.dispatch_success),
        .dispatch_failure = get(from.dispatch_failure),
        .dispatch_dead = get(from.dispatch_dead),
        .released = get(from.released),
        .unroutable = get(from.unroutable),
        .lost = get(from.lost),
        .stale_settles = get(from.stale_settles),
        .reaped = get(from.reaped),
        .purged = get(from.purged),
        .circuit_opened = get(from.circuit_opened),
        .interceptor_failures = get(from.interceptor_failures),
        .store_failures = get(from.store_failures),
        .hot_depth = get(from.hot_depth),
        .cold_depth = get(from.cold_depth),
        .hot_capacity = get(from.hot_capacity),
        .cold_capacity = get(from.cold_capacity),
        .in_flight = get(from.in_flight),
        .oldest_lag = duration(from.oldest_lag),
        .latency = {.counts = {}, .sum = duration(from.latency_sum)},
    };
    for (std::size_t i = 0; i < from.latency_counts.size(); ++i)
        snapshot.latency.counts[i] = get(from.latency_counts[i]);
    return snapshot;
}

}  // namespace postroom
