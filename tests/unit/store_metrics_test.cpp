#include "postroom/store_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/traffic.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"

namespace postroom::store_metrics_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

Message message_of(const std::string& topic) {
    Message message;
    message.topic = topic;
    return message;
}

void tell(StoreMetrics& metrics, EventKind kind, const std::string& topic,
          const std::string& store = "main") {
    const Message message = message_of(topic);
    metrics.observe({.kind = kind, .store = store, .message = &message, .duration = 4ms});
}

TEST(StoreMetrics, CountsByStoreAndTopic) {
    StoreMetrics metrics(
        {.destination_of = [](const std::string& topic) { return "to " + topic; }});
    tell(metrics, EventKind::delivered, "a");
    tell(metrics, EventKind::delivered, "a");
    tell(metrics, EventKind::retried, "a");
    tell(metrics, EventKind::dead, "b", "other");
    const std::string text = metrics.prometheus();
    EXPECT_THAT(text, HasSubstr("postroom_delivered_total{store=\"main\",queue=\"outbox\",topic="
                                "\"a\",sink=\"to a\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("postroom_delivery_failures_total{store=\"main\",queue=\"outbox\","
                                "topic=\"a\",sink=\"to a\",class=\"message\"} 1\n"));
    EXPECT_THAT(
        text,
        HasSubstr(
            "postroom_dead_total{store=\"other\",queue=\"outbox\",topic=\"b\",sink=\"to b\"} 1\n"));
    EXPECT_EQ(metrics.total(Queue::outbox).dispatch_success, 2U);
    EXPECT_EQ(metrics.total(Queue::outbox).dispatch_dead, 1U);
}

TEST(StoreMetrics, CountsTopicsBeyondTheLimitTogether) {
    StoreMetrics metrics({.topics_max = 2});
    for (const std::string topic : {"a", "b", "c", "d", "a"})
        tell(metrics, EventKind::delivered, topic);
    const std::string text = metrics.prometheus();
    EXPECT_THAT(text, HasSubstr("topic=\"a\",sink=\"\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("topic=\"other\",sink=\"\"} 2\n"));
    EXPECT_THAT(text, Not(HasSubstr("topic=\"c\"")));
}

TEST(StoreMetrics, EscapesWhateverATopicHolds) {
    StoreMetrics metrics;
    tell(metrics, EventKind::delivered, "a\"b\\c\nd\xff");
    EXPECT_THAT(metrics.prometheus(), HasSubstr("topic=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD\""));
}

TEST(StoreMetrics, ShowsWhichCircuitsAreOpen) {
    StoreMetrics metrics;
    metrics.observe(
        {.kind = EventKind::circuit_opened, .store = "main", .destination = "http://a"});
    EXPECT_THAT(metrics.prometheus(),
                HasSubstr("postroom_breaker_state{store=\"main\",queue=\"outbox\",sink=\"http://"
                          "a\",state=\"open\"} 1\n"));
    metrics.observe(
        {.kind = EventKind::circuit_closed, .store = "main", .destination = "http://a"});
    const std::string text = metrics.prometheus();
    EXPECT_THAT(text, HasSubstr("sink=\"http://a\",state=\"open\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("class=\"destination\"} 1\n"));
}

TEST(StoreMetrics, CountsDestinationsBeyondTheLimitTogether) {
    StoreMetrics metrics({.topics_max = 2});
    const auto tell_of = [&](EventKind kind, const std::string& destination) {
        metrics.observe({.kind = kind, .store = "main", .destination = destination});
    };
    for (const std::string destination : {"a", "b", "c", "d", "a"})
        tell_of(EventKind::circuit_opened, destination);
    tell_of(EventKind::circuit_closed, "e");
    const std::string text = metrics.prometheus();
    EXPECT_THAT(text, HasSubstr("sink=\"a\",class=\"destination\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("sink=\"other\",class=\"destination\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("sink=\"other\",state=\"open\"} 0\n"));
    for (const char* const unnamed : {"sink=\"c\"", "sink=\"d\"", "sink=\"e\""})
        EXPECT_THAT(text, Not(HasSubstr(unnamed)));
}

TEST(StoreMetrics, TellsHowFullTheQueuesInMemoryAre) {
    StoreMetrics metrics;
    metrics.observe({.kind = EventKind::queue_depths,
                     .store = "main",
                     .hot_depth = 3,
                     .cold_depth = 25,
                     .cold_capacity = 100,
                     .in_flight = 30});
    const std::string text = metrics.prometheus();
    const std::string labels = "{store=\"main\",queue=\"outbox\"";
    EXPECT_THAT(text, HasSubstr("postroom_inflight" + labels + "} 30\n"));
    EXPECT_THAT(text,
                HasSubstr("postroom_queue_capacity_ratio" + labels + ",path=\"cold\"} 0.25\n"));
    EXPECT_THAT(text, Not(HasSubstr("path=\"hot\""))) << "there is no hot path";
}

TEST(StoreMetrics, TellsOfOutcomesThatCameTooLate) {
    MemoryStore store({.store_id = "main"});
    StoreMetrics metrics;
    const Outbox outbox(store, {.queue = {.observer = &metrics}});
    outbox.enqueue({.topic = "a", .payload = "1"});
    const std::vector<Message> claimed = outbox.claim(OwnerToken::generate(), 1min, 1);
    outbox.ack(claimed);
    outbox.ack(claimed);
    EXPECT_THAT(metrics.prometheus(),
                HasSubstr("postroom_stale_settle_total{store=\"main\",queue=\"outbox\"} 1\n"));
}

TEST(StoreMetrics, SamplesWhatLiesInAStore) {
    MemoryStore store({.store_id = "main"});
    Outbox(store).enqueue({.topic = "a", .payload = "1"});
    StoreMetrics metrics;
    metrics.sample(store);
    const std::string text = metrics.prometheus();
    EXPECT_THAT(text, HasSubstr("postroom_store_up{store=\"main\"} 1\n"));
    EXPECT_THAT(text,
                HasSubstr("postroom_backlog{store=\"main\",queue=\"outbox\",state=\"ready\"} 1\n"));
}

TEST(StoreMetrics, TellsOfOldFailures) {
    MemoryStore store({.store_id = "main", .old_failure_attempts = 1});
    const Outbox outbox(store, {.queue = {.observer = &silence()}});
    outbox.enqueue({.topic = "a", .payload = "1"});
    outbox.abandon(outbox.claim(OwnerToken::generate(), std::chrono::minutes{1}, 1), "no");
    StoreMetrics metrics;
    metrics.sample(store);
    EXPECT_THAT(metrics.prometheus(),
                HasSubstr("postroom_old_failures{store=\"main\",queue=\"outbox\"} 1\n"));
}

TEST(StoreMetrics, OfAForgottenStoreNothingIsLeft) {
    MemoryStore store({.store_id = "gone"});
    StoreMetrics metrics;
    metrics.sample(store);
    metrics.schema_version("gone", 3);
    tell(metrics, EventKind::delivered, "a", "gone");
    tell(metrics, EventKind::delivered, "a", "main");
    metrics.forget("gone");
    EXPECT_THAT(metrics.prometheus(), Not(HasSubstr("gone")));
    EXPECT_THAT(metrics.prometheus(), HasSubstr("postroom_delivered_total{store=\"main\""));
    EXPECT_EQ(metrics.stores().size(), 1U);
    tell(metrics, EventKind::delivered, "a", "gone");
    EXPECT_THAT(metrics.prometheus(),
                HasSubstr("postroom_delivered_total{store=\"gone\",queue=\"outbox\",topic=\"a\","
                          "sink=\"\"} 1\n"))
        << "it begins anew";
}

TEST(StoreMetrics, BucketsOfAHistogramAddUp) {
    StoreMetrics metrics;
    tell(metrics, EventKind::delivered, "a");
    const std::string text = metrics.prometheus();
    const std::string labels = "{store=\"main\",queue=\"outbox\",le=\"";
    EXPECT_THAT(text, HasSubstr("postroom_sink_send_seconds_bucket" + labels + "0.0025\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("postroom_sink_send_seconds_bucket" + labels + "0.005\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("postroom_sink_send_seconds_bucket" + labels + "+Inf\"} 1\n"));
    EXPECT_THAT(
        text, HasSubstr("postroom_sink_send_seconds_sum{store=\"main\",queue=\"outbox\"} 0.004\n"));
}

TEST(Traffic, RatesAreThoseOfTheWindow) {
    StoreMetrics metrics;
    admin::Traffic traffic;
    Instant now{1h};
    tell(metrics, EventKind::delivered, "a");
    traffic.note(now, metrics);
    for (int i = 0; i < 20; ++i) tell(metrics, EventKind::delivered, "a");
    for (int i = 0; i < 5; ++i) tell(metrics, EventKind::retried, "a");
    now += 10s;
    traffic.note(now, metrics);
    admin::QueueTraffic queue = traffic.queues().at({"main", Queue::outbox});
    EXPECT_DOUBLE_EQ(queue.rates.delivered, 2.0);
    EXPECT_DOUBLE_EQ(queue.rates.failed, 0.5);
    EXPECT_DOUBLE_EQ(queue.failure_ratio, 0.2);
    ASSERT_TRUE(queue.latency);
    EXPECT_GT(queue.latency->p50, 2500us);
    EXPECT_LE(queue.latency->p99, 5ms);
    EXPECT_DOUBLE_EQ(traffic.topics().at({"main", Queue::outbox, "a"}).delivered, 2.0);
    for (int i = 0; i < 3; ++i) {
        now += 30s;
        traffic.note(now, metrics);
    }
    queue = traffic.queues().at({"main", Queue::outbox});
    EXPECT_DOUBLE_EQ(queue.rates.delivered, 0.0);
    EXPECT_FALSE(queue.latency);
    EXPECT_EQ(traffic.series().size(), 4U);
    EXPECT_DOUBLE_EQ(traffic.series().front().rates.delivered, 2.0);
}

TEST(Traffic, DeliveriesAreTimedByDestination) {
    StoreMetrics metrics({.topics_max = 1, .destination_of = [](const std::string& topic) {
                              return topic == "lost" ? "" : "to " + topic;
                          }});
    admin::Traffic traffic;
    EXPECT_TRUE(traffic.destinations().empty());
    tell(metrics, EventKind::delivered, "a");
    traffic.note(Instant{1h}, metrics);
    const auto took = [&](const std::string& topic, const std::string& store, Duration duration) {
        const Message message = message_of(topic);
        metrics.observe({.kind = EventKind::delivered,
                         .store = store,
                         .message = &message,
                         .duration = duration});
    };
    for (int i = 0; i < 99; ++i) took("b", "main", 4ms);
    took("b", "second", 700ms);
    took("b", "second", 700ms);
    took("lost", "main", 1ms);
    traffic.note(Instant{1h} + 10s, metrics);
    const auto found = traffic.destinations();
    ASSERT_EQ(found.size(), 1U) << "to a nothing went in this window, lost went nowhere";
    const admin::Percentiles both = found.at("to b");
    EXPECT_GT(both.p50, 2500us);
    EXPECT_LE(both.p50, 5ms);
    EXPECT_GT(both.p99, 500ms) << "of both stores";
}

TEST(Traffic, AStoreThatLeavesTakesNothingFromTheOthers) {
    StoreMetrics metrics;
    admin::Traffic traffic;
    for (int i = 0; i < 100; ++i) tell(metrics, EventKind::delivered, "a", "gone");
    traffic.note(Instant{1h}, metrics);
    metrics.forget("gone");
    for (int i = 0; i < 20; ++i) tell(metrics, EventKind::delivered, "a", "main");
    traffic.note(Instant{1h} + 10s, metrics);
    EXPECT_DOUBLE_EQ(traffic.series().back().rates.delivered, 2.0);
    EXPECT_FALSE(traffic.queues().contains({"gone", Queue::outbox}));
    // It comes back, with figures below those it had.
    tell(metrics, EventKind::retried, "a", "gone");
    traffic.note(Instant{1h} + 20s, metrics);
    const admin::QueueTraffic queue = traffic.queues().at({"gone", Queue::outbox});
    EXPECT_DOUBLE_EQ(queue.failure_ratio, 1.0);
    EXPECT_FALSE(queue.latency);
}

TEST(Traffic, PercentilesLieWithinTheirBuckets) {
    LatencyHistogram histogram;
    EXPECT_FALSE(admin::percentiles_of(histogram));
    histogram.counts[3] = 98;  // 5 to 10 ms
    histogram.counts[9] = 2;   // 0.5 to 1 s
    const admin::Percentiles found = admin::percentiles_of(histogram).value();
    EXPECT_GT(found.p50, 5ms);
    EXPECT_LT(found.p50, 10ms);
    EXPECT_GT(found.p99, 500ms);
    EXPECT_LE(found.p99, 1s);
}

}  // namespace
}  // namespace postroom::store_metrics_test
