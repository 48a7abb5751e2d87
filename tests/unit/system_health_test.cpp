// What /health makes of figures: each threshold from below, at its limits and above.
#include "admin/http/system_health.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/forwarding_store.hpp"
#include "postroom/error.hpp"
#include "postroom/testing.hpp"

namespace postroom::test::system_health_test {
namespace {

using namespace std::chrono_literals;
using admin::HealthCheck;
using Status = HealthCheck::Status;

// What a case finds wrong; by default nothing.
struct Situation {
    Counts outbox{};
    Counts inbox{};
    Duration oldest{};            // of the outbox
    std::uint64_t delivered = 0;  // within the last minute
    std::uint64_t retried = 0;
    std::uint64_t dead = 0;
    std::optional<Duration> circuit_open{};
    SchemaReport schema{.version = 7};
    bool answers = true;
};

// Says of its queues what it was told to say.
class PosedStore final : public ForwardingStore {
public:
    PosedStore(Store& inner, const Situation& situation)
        : ForwardingStore(inner), situation_(situation) {}

    Counts counts(Queue queue) override {
        if (!situation_.answers) throw Error(ErrorKind::unavailable, "no route to it");
        Counts counts = queue == Queue::outbox ? situation_.outbox : situation_.inbox;
        if (queue == Queue::outbox && situation_.oldest > Duration{})
            counts.oldest = now() - situation_.oldest;
        return counts;
    }

private:
    const Situation& situation_;
};

// What the checks of an admin server work with, without the server and its threads.
class Posed {
public:
    explicit Posed(Situation situation) : situation_(std::move(situation)) {
        options_.schema = [this](const std::string&) { return situation_.schema; };
        options_.health = {.backlog_degraded = 100,
                           .backlog_unhealthy = 1000,
                           .oldest_age_degraded = 5min,
                           .oldest_age_unhealthy = 1h,
                           .failure_ratio_degraded = 0.1,
                           .failure_ratio_unhealthy = 0.5,
                           .circuit_open_degraded = 1min,
                           .circuit_open_unhealthy = 15min};
        if (situation_.circuit_open) report_circuit(*situation_.circuit_open);
        watch_.look_at(memory_);  // workers and schema
        metrics_.sample(posed_);  // what lies in the queues
        traffic_.note(clock_.now(), metrics_);
        tell(EventKind::delivered, situation_.delivered);
        tell(EventKind::retried, situation_.retried);
        tell(EventKind::dead, situation_.dead);
        traffic_.note(clock_.now() + 10s, metrics_);
    }

    HealthThresholds& limits() { return options_.health; }
    std::vector<HealthCheck> checks() { return health_of(context()); }
    Status ready() { return worst_of(readiness_of(context())); }

private:
    void report_circuit(Duration open) {
        WorkerReport worker{.owner = OwnerToken::generate(), .host = "far", .pid = 7};
        worker.started = worker.last_seen = clock_.now();
        worker.circuits = {{.destination = "http://shop",
                            .error = "connection refused",
                            .since = clock_.now() - open,
                            .next_probe = clock_.now() + 10s}};
        memory_.report_worker(worker);
    }

    void tell(EventKind kind, std::uint64_t times) {
        Message message;
        message.topic = "t";
        for (std::uint64_t i = 0; i < times; ++i)
            metrics_.observe({.kind = kind, .store = "main", .message = &message});
    }

    admin::Context context() {
        return {.stores = stores_,
                .metrics = metrics_,
                .options = options_,
                .clock = clock_,
                .traffic = traffic_,
                .watch = watch_,
                .operations = operations_,
                .live = live_,
                .started_at = clock_.now(),
                .stop = {}};
    }

    const Situation situation_;
    ManualClock clock_;
    MemoryStore memory_{clock_, {.store_id = "main"}};
    PosedStore posed_{memory_, situation_};
    FixedStores stores_{posed_};
    StoreMetrics metrics_;
    AdminOptions options_;
    admin::Traffic traffic_;
    admin::StoreWatch watch_{stores_, metrics_, traffic_, options_};
    admin::LiveEvents live_;
    admin::Operations operations_{1, [](const admin::Operation&) {}};
};

struct Case {
    const char* name;
    Situation situation;
    const char* check;  // that finds it
    Status expected;
    bool ready = true;  // it is sent messages all the same
};

class SystemHealth : public testing::TestWithParam<Case> {};

// Goal: every threshold has the effect that its name says, and no other check does.
TEST_P(SystemHealth, IsWhatTheThresholdsSay) {
    Posed posed(GetParam().situation);
    const std::vector<HealthCheck> checks = posed.checks();
    EXPECT_EQ(worst_of(checks), GetParam().expected);
    for (const HealthCheck& check : checks) {
        if (check.check == GetParam().check) continue;
        EXPECT_EQ(check.status, Status::ok) << check.what;
    }
    EXPECT_EQ(posed.ready(), GetParam().ready ? Status::ok : Status::unhealthy);
}

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Backlog, SystemHealth,
    testing::Values(
        Case{"Small", {.outbox = {.ready = 60, .in_progress = 39}}, "backlog", Status::ok},
        Case{"Degraded", {.outbox = {.ready = 60, .in_progress = 40}}, "backlog", Status::degraded},
        Case{"NearlyUnhealthy", {.outbox = {.ready = 999}}, "backlog", Status::degraded},
        Case{"Unhealthy", {.outbox = {.ready = 1000}}, "backlog", Status::unhealthy},
        Case{"OfTheInbox", {.inbox = {.ready = 1000}}, "backlog", Status::unhealthy},
        Case{"DeadOnesDoNotWait", {.outbox = {.dead = 5000}}, "backlog", Status::ok}),
    &name_of);

INSTANTIATE_TEST_SUITE_P(
    OldestAge, SystemHealth,
    testing::Values(Case{"Young", {.oldest = 5min - 1s}, "oldest_age", Status::ok},
                    Case{"Degraded", {.oldest = 5min}, "oldest_age", Status::degraded},
                    Case{"NearlyUnhealthy", {.oldest = 1h - 1s}, "oldest_age", Status::degraded},
                    Case{"Unhealthy", {.oldest = 1h}, "oldest_age", Status::unhealthy}),
    &name_of);

INSTANTIATE_TEST_SUITE_P(
    FailureRatio, SystemHealth,
    testing::Values(
        Case{"Low", {.delivered = 91, .retried = 9}, "failure_ratio", Status::ok},
        Case{"Degraded", {.delivered = 90, .retried = 10}, "failure_ratio", Status::degraded},
        Case{"NearlyUnhealthy", {.delivered = 51, .dead = 49}, "failure_ratio", Status::degraded},
        Case{"Unhealthy",
             {.delivered = 50, .retried = 30, .dead = 20},
             "failure_ratio",
             Status::unhealthy}),
    &name_of);

INSTANTIATE_TEST_SUITE_P(
    Circuit, SystemHealth,
    testing::Values(
        Case{"JustOpened", {.circuit_open = 59s}, "circuit", Status::ok},
        Case{"Degraded", {.circuit_open = 1min}, "circuit", Status::degraded},
        Case{"NearlyUnhealthy", {.circuit_open = 15min - 1s}, "circuit", Status::degraded},
        Case{"Unhealthy", {.circuit_open = 15min}, "circuit", Status::unhealthy}),
    &name_of);

INSTANTIATE_TEST_SUITE_P(Schema, SystemHealth,
                         testing::Values(Case{"Pending",
                                              {.schema = {.version = 6, .pending = {"0007"}}},
                                              "schema",
                                              Status::unhealthy,
                                              false},
                                         Case{"ANewerOneServesAsWell",
                                              {.schema = {.version = 9, .newer = true}},
                                              "schema",
                                              Status::ok},
                                         Case{"OtherRoutinesServeAsWell",
                                              {.schema = {.version = 7, .outdated = {"routines"}}},
                                              "schema",
                                              Status::ok}),
                         &name_of);

INSTANTIATE_TEST_SUITE_P(
    Store, SystemHealth,
    testing::Values(Case{"Answers", {}, "store", Status::ok},
                    // Its figures are not known: nothing else is judged by old ones.
                    Case{"Unreachable",
                         {.outbox = {.ready = 5000}, .answers = false},
                         "store",
                         Status::unhealthy,
                         false}),
    &name_of);

TEST(SystemHealthLimits, OfZeroAreNone) {
    Posed posed(
        {.outbox = {.ready = 1'000'000}, .oldest = 24h, .retried = 100, .circuit_open = 24h});
    EXPECT_EQ(worst_of(posed.checks()), Status::unhealthy);
    posed.limits() = {.backlog_degraded = 0,
                      .backlog_unhealthy = 0,
                      .oldest_age_degraded = 0s,
                      .oldest_age_unhealthy = 0s,
                      .failure_ratio_degraded = 0,
                      .failure_ratio_unhealthy = 0,
                      .circuit_open_degraded = 0s,
                      .circuit_open_unhealthy = 0s};
    EXPECT_EQ(worst_of(posed.checks()), Status::ok);
}

}  // namespace
}  // namespace postroom::test::system_health_test
