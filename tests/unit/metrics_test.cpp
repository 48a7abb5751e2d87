#include "postroom/metrics.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace postroom::metrics_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kinds = static_cast<std::size_t>(EventKind::oldest_lag) + 1;

Event event_of(EventKind kind, Queue queue = Queue::outbox) {
    return {.kind = kind,
            .queue = queue,
            .count = 3,
            .duration = 4ms,
            .hot_depth = 5,
            .cold_depth = 6,
            .hot_capacity = 7,
            .cold_capacity = 8,
            .in_flight = 9};
}

// The figures after one event_of(kind), from their definition.
MetricsSnapshot expected_after(EventKind kind) {
    switch (kind) {
        case EventKind::enqueued:
            return {.enqueued = 3};
        case EventKind::duplicate:
            return {.duplicates = 1};
        case EventKind::hot_enqueued:
            return {.hot_enqueued = 3};
        case EventKind::hot_dropped:
            return {.hot_dropped = 3};
        case EventKind::cold_enqueued:
            return {.cold_enqueued = 3};
        case EventKind::claimed:
            return {.claims = 1};
        case EventKind::checked:
        case EventKind::started:
        case EventKind::circuit_closed:
        case EventKind::store_waits:
            return {};
        case EventKind::delivered:
            return {.dispatch_success = 1, .latency = {.counts = {0, 0, 1}, .sum = 4ms}};
        case EventKind::retried:
            return {.dispatch_failure = 1};
        case EventKind::dead:
            return {.dispatch_dead = 1};
        case EventKind::released:
            return {.released = 1};
        case EventKind::unroutable:
            return {.unroutable = 1};
        case EventKind::lost:
            return {.lost = 1};
        case EventKind::reaped:
            return {.reaped = 3};
        case EventKind::purged:
            return {.purged = 3};
        case EventKind::circuit_opened:
            return {.circuit_opened = 1};
        case EventKind::interceptor_failed:
            return {.interceptor_failures = 1};
        case EventKind::hash_mismatch:
            return {.hash_mismatches = 1};
        case EventKind::store_failed:
            return {.store_failures = 1};
        case EventKind::queue_depths:
            return {.hot_depth = 5,
                    .cold_depth = 6,
                    .hot_capacity = 7,
                    .cold_capacity = 8,
                    .in_flight = 9};
        case EventKind::oldest_lag:
            return {.oldest_lag = 4ms};
    }
    ADD_FAILURE() << "a kind without its figures";
    return {};
}

TEST(Metrics, O7_EveryEventChangesItsFigureOfItsQueueAndNoOther) {
    for (std::size_t i = 0; i < kinds; ++i) {
        const auto kind = static_cast<EventKind>(i);
        for (const auto& [queue, other] :
             {std::pair{Queue::outbox, Queue::inbox}, std::pair{Queue::inbox, Queue::outbox}}) {
            Metrics metrics;
            metrics.observe(event_of(kind, queue));
            EXPECT_EQ(metrics.snapshot(queue), expected_after(kind)) << "kind " << i;
            EXPECT_EQ(metrics.snapshot(other), MetricsSnapshot{}) << "kind " << i;
        }
    }
}

TEST(Metrics, EnqueuingOneMessageCountsOneAndSeveralTheirCount) {
    Metrics metrics;
    const Message message;
    metrics.observe({.kind = EventKind::enqueued, .message = &message});
    metrics.observe({.kind = EventKind::enqueued, .count = 10});
    EXPECT_EQ(metrics.snapshot(Queue::outbox).enqueued, 11u);
}

TEST(Metrics, AnEmptyClaimIsAClaimToo) {
    Metrics metrics;
    for (const std::uint64_t count : {0U, 7U, 0U})
        metrics.observe({.kind = EventKind::claimed, .count = count});
    const MetricsSnapshot snapshot = metrics.snapshot(Queue::outbox);
    EXPECT_EQ(snapshot.claims, 3u);
    EXPECT_EQ(snapshot.empty_claims, 2u);
}

TEST(Metrics, AnOutcomeThatCameTooLateIsALeaseThatWasLost) {
    Metrics metrics;
    for (const char* const found_by : {"settle", "extend", "settle"})
        metrics.observe({.kind = EventKind::lost, .operation = found_by});
    EXPECT_EQ(metrics.snapshot(Queue::outbox), (MetricsSnapshot{.lost = 3, .stale_settles = 2}));
}

TEST(Metrics, GaugesShowWhatWasToldLast) {
    Metrics metrics;
    metrics.observe({.kind = EventKind::queue_depths, .hot_depth = 10, .cold_depth = 20});
    metrics.observe({.kind = EventKind::queue_depths, .hot_depth = 1, .cold_depth = 0});
    metrics.observe({.kind = EventKind::oldest_lag, .duration = 5min});
    metrics.observe({.kind = EventKind::oldest_lag, .duration = 2s});
    EXPECT_EQ(metrics.snapshot(Queue::outbox),
              (MetricsSnapshot{.hot_depth = 1, .cold_depth = 0, .oldest_lag = 2s}));
}

TEST(Metrics, AnAgeBeforeItsTimeIsZero) {
    Metrics metrics;
    metrics.observe({.kind = EventKind::oldest_lag, .duration = -5s});
    metrics.observe({.kind = EventKind::delivered, .duration = -5s});
    const MetricsSnapshot snapshot = metrics.snapshot(Queue::outbox);
    EXPECT_EQ(snapshot.oldest_lag, Duration{});
    EXPECT_EQ(snapshot.latency.sum, Duration{});
    EXPECT_EQ(snapshot.latency.counts.front(), 1u);
}

TEST(Metrics, ALatencyFallsIntoTheBucketWhoseUpperEndItDoesNotExceed) {
    for (std::size_t i = 0; i < latency_bucket_bounds.size(); ++i) {
        Metrics metrics;
        metrics.observe({.kind = EventKind::delivered, .duration = latency_bucket_bounds[i]});
        metrics.observe({.kind = EventKind::delivered, .duration = latency_bucket_bounds[i] + 1us});
        const LatencyHistogram latency = metrics.snapshot(Queue::outbox).latency;
        EXPECT_EQ(latency.counts[i], 1u) << i;
        EXPECT_EQ(latency.counts[i + 1], 1u) << i;
        EXPECT_EQ(latency.count(), 2u) << i;
        EXPECT_EQ(latency.sum, 2 * latency_bucket_bounds[i] + 1us) << i;
    }
}

TEST(Metrics, O7_FailureRatioIsFailuresOfAllOutcomes) {
    const MetricsSnapshot earlier{
        .dispatch_success = 6, .dispatch_failure = 3, .dispatch_dead = 1, .released = 50};
    MetricsSnapshot later = earlier;
    EXPECT_DOUBLE_EQ(failure_ratio(MetricsSnapshot{}), 0.0);
    EXPECT_DOUBLE_EQ(failure_ratio(earlier), 0.4);
    EXPECT_DOUBLE_EQ(failure_ratio(earlier, later), 0.0);
    later.dispatch_success += 3;
    later.dispatch_dead += 1;
    EXPECT_DOUBLE_EQ(failure_ratio(earlier, later), 0.25);
    later = earlier;
    later.dispatch_failure += 2;
    EXPECT_DOUBLE_EQ(failure_ratio(earlier, later), 1.0);
}

TEST(Metrics, O7_ThroughputIsDeliveriesPerSecondBetweenTwoSnapshots) {
    const TimedSnapshot earlier{.at = Instant{10s}, .figures = {.dispatch_success = 100}};
    TimedSnapshot later{.at = Instant{12500ms}, .figures = {.dispatch_success = 600}};
    EXPECT_DOUBLE_EQ(throughput(earlier, later), 200.0);
    later.at = earlier.at;
    EXPECT_DOUBLE_EQ(throughput(earlier, later), 0.0);
    later.at = Instant{9s};
    EXPECT_DOUBLE_EQ(throughput(earlier, later), 0.0);
}

TEST(Metrics, ConcurrentEventsAreAllCounted) {
    constexpr std::uint64_t threads = 8;
    constexpr std::uint64_t rounds = 5000;
    Metrics metrics;
    {
        std::vector<std::jthread> workers;
        for (std::uint64_t i = 0; i < threads; ++i) {
            workers.emplace_back([&metrics] {
                for (std::uint64_t round = 0; round < rounds; ++round) {
                    metrics.observe(event_of(EventKind::delivered));
                    metrics.observe(event_of(EventKind::hot_enqueued, Queue::inbox));
                    metrics.observe(event_of(EventKind::queue_depths));
                    EXPECT_LE(metrics.snapshot(Queue::outbox).dispatch_success, threads * rounds);
                }
            });
        }
    }
    const MetricsSnapshot outbox = metrics.snapshot(Queue::outbox);
    EXPECT_EQ(outbox.dispatch_success, threads * rounds);
    EXPECT_EQ(outbox.latency.count(), threads * rounds);
    EXPECT_EQ(outbox.latency.sum, 4ms * (threads * rounds));
    EXPECT_EQ(outbox.hot_depth, 5u);
    EXPECT_EQ(metrics.snapshot(Queue::inbox).hot_enqueued, 3 * threads * rounds);
}

}  // namespace
}  // namespace postroom::metrics_test
