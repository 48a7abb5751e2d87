// The defaults that the documents name, as an application gets them that sets nothing.
#include <gtest/gtest.h>

#include "postroom/dispatcher.hpp"
#include "postroom/open_store.hpp"
#include "postroom/tenancy.hpp"
#include "postroom/work_queue.hpp"

namespace postroom::test::defaults {
namespace {

using namespace std::chrono_literals;

TEST(Defaults, S001_15_1_OfTheDispatcher) {
    const DispatcherOptions options;
    EXPECT_EQ(options.worker_count, 4U);
    EXPECT_EQ(options.hot_capacity, 1000U);
    EXPECT_EQ(options.cold_capacity, 1000U);
    EXPECT_EQ(options.retry.max_attempts, 10U);
    EXPECT_EQ(options.drain_timeout, 5s);
    EXPECT_EQ(options.on_close, OnClose::release);
    EXPECT_EQ(options.unroutable, Unroutable::retry);
    EXPECT_EQ(options.in_flight_ttl, Duration::zero());
    EXPECT_EQ(options.observer, nullptr);
}

TEST(Defaults, OBX_065_IBX_084_OfRetries) {
    const RetryPolicy policy;
    EXPECT_EQ(policy.base, 2s);
    EXPECT_EQ(policy.factor, 2.0);
    EXPECT_EQ(policy.cap, 60s);
    EXPECT_EQ(policy.jitter, 0.0);
    EXPECT_EQ(policy.max_attempts, 10U);
    EXPECT_EQ(WorkQueueOptions{}.retry, policy);
    EXPECT_EQ(DispatcherOptions{}.retry, policy);
}

TEST(Defaults, OfPollingBatchAndLease) {
    const DispatcherOptions options;
    EXPECT_EQ(options.batch, 50U);
    EXPECT_EQ(options.lease, 30s);
    EXPECT_EQ(options.poll_interval_max, 5s);
    EXPECT_TRUE(options.wake_ups);
    EXPECT_EQ(WorkQueueOptions{}.lease, 30s);
    EXPECT_EQ(DiscoveryOptions{}.refresh_interval, 5min);
}

TEST(Defaults, OfAStore) {
    const OpenOptions options;
    EXPECT_FALSE(options.deploy_schema);
    EXPECT_EQ(options.schema, "infra");
    EXPECT_EQ(options.outbox_table, "outbox");
    EXPECT_EQ(options.inbox_table, "inbox");
    EXPECT_TRUE(options.keep_history);
    EXPECT_EQ(options.limits.max_payload_bytes, 1'048'576U);
    EXPECT_EQ(options.limits.max_error_chars, 4000U);
    EXPECT_EQ(options.dedupe_window, std::chrono::hours{24 * 7});
    EXPECT_EQ(options.old_failure_attempts, 5U);
}

}  // namespace
}  // namespace postroom::test::defaults
