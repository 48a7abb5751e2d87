// When a dispatcher writes down that it is at work, and what it says. On virtual time, step by
// step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "conformance/forwarding_store.hpp"
#include "dispatch/dispatch_core.hpp"
#include "postroom/error.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"

namespace postroom::worker_reporter_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class WorkerReporterTest : public testing::Test {
protected:
    WorkerReporterTest() {
        core->routes().on("free", [](const Message&) {});
        core->routes().on("broken", [](const Message&) { throw PermanentFailure("no"); });
        core->routes().on("far", [this](const Message&) {
            if (down) throw DestinationDown("connection refused");
        });
        core->connect({.reporter = [this] { ++woken; }});
        core->introduce({.host = "mail-1", .pid = 7, .version = "1.0"});
    }
    ~WorkerReporterTest() override { core->disconnect(); }

    void put(const std::string& topic) {
        Outbox(store).enqueue(NewMessage{.topic = TopicName(topic), .payload = ""});
    }
    // Claims, handles and settles all there is.
    void work() {
        core->nudge();
        core->claim_step(clock.now());
        while (std::optional<Work> one = core->take(clock.now())) core->run(std::move(*one));
        core->settle_step(clock.now(), true);
    }
    Instant report() { return core->report_step(clock.now(), 1min); }
    WorkerReport reported() {
        const std::vector<WorkerReport> workers = store.workers();
        EXPECT_THAT(workers, SizeIs(1));
        return workers.empty() ? WorkerReport{} : workers.front();
    }

    ManualClock clock;
    MemoryStore store{clock};
    base::SystemRandom random;
    int woken = 0;
    bool down = true;
    // Its clock is not the database's.
    std::shared_ptr<DispatchCore> core = std::make_shared<DispatchCore>(
        store, DispatcherOptions{.owner = OwnerToken::generate()}, clock, random);
};

TEST_F(WorkerReporterTest, SaysWhoItIsAtOnceAndRarelyWhileIdle) {
    EXPECT_EQ(report(), clock.now() + 1min);
    const WorkerReport first = reported();
    EXPECT_EQ(first.owner, core->owner());
    EXPECT_EQ(first.host, "mail-1");
    EXPECT_EQ(first.pid, 7);
    EXPECT_EQ(first.version, "1.0");
    EXPECT_EQ(first.interval, Duration(1min));
    EXPECT_THAT(first.topics, ElementsAre("broken", "far", "free"));
    clock.advance(59s);
    report();
    EXPECT_EQ(reported().last_seen, first.last_seen) << "not before its time";
    clock.advance(1s);
    report();
    EXPECT_EQ(reported().last_seen, clock.now());
    EXPECT_EQ(reported().started, first.started);
}

TEST_F(WorkerReporterTest, IsWokenWhenAnIdleStoreHasWorkAndReportsEveryFewSeconds) {
    report();
    put("free");
    core->nudge();
    core->claim_step(clock.now());
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(report(), clock.now() + 5s);
    EXPECT_EQ(reported().in_hand, 1U);
    EXPECT_EQ(reported().interval, Duration(5s));
    clock.advance(4s);
    work();
    put("broken");
    work();
    EXPECT_EQ(woken, 1) << "the next report comes soon enough";
    clock.advance(1s);
    report();
    EXPECT_DOUBLE_EQ(reported().delivered_per_second, 0.2);
    EXPECT_DOUBLE_EQ(reported().failed_per_second, 0.2);
    clock.advance(5s);
    EXPECT_EQ(report(), clock.now() + 1min) << "idle again";
    EXPECT_DOUBLE_EQ(reported().delivered_per_second, 0);
}

TEST_F(WorkerReporterTest, WhatCameAgainInThisProcessIsReportedBySource) {
    const Inbox inbox(store);
    const ReceivedMessage message{
        .topic = TopicName("t"), .source = "shop", .message_id = "1", .payload = ""};
    report();
    EXPECT_THAT(reported().repeats, IsEmpty());
    for (int i = 0; i < 3; ++i) inbox.enqueue(message);
    clock.advance(1min);
    report();
    EXPECT_THAT(reported().repeats, ElementsAre(SourceRepeats{.source = "shop", .duplicates = 2}));
}

TEST_F(WorkerReporterTest, ACircuitIsReportedWhenItOpensAndWhenItCloses) {
    report();
    put("far");
    const Instant opened = clock.now();
    work();
    EXPECT_GE(woken, 1);
    report();
    ASSERT_THAT(reported().circuits, SizeIs(1));
    const CircuitReport circuit = reported().circuits.front();
    EXPECT_EQ(circuit.destination, "far");
    EXPECT_EQ(circuit.error, "connection refused");
    EXPECT_EQ(circuit.since, opened);
    EXPECT_EQ(circuit.next_probe, opened + 1s);
    EXPECT_THAT(circuit.topics, ElementsAre("far"));

    clock.advance(1s);
    work();  // the probe fails
    report();
    EXPECT_EQ(reported().circuits.front().since, opened) << "it is the same outage";
    EXPECT_EQ(reported().circuits.front().next_probe, clock.now() + 2s);

    down = false;
    const int before = woken;
    for (int i = 0; i < 20 && woken == before; ++i) {
        clock.advance(2s);
        put("far");
        work();
    }
    EXPECT_GT(woken, before);
    report();
    EXPECT_THAT(reported().circuits, IsEmpty());
}

// Where messages are rare, it takes long until there were enough for the circuit to close.
TEST_F(WorkerReporterTest, ADestinationThatAnsweredAProbeIsNotReportedAsDown) {
    put("far");
    work();
    report();
    ASSERT_THAT(reported().circuits, SizeIs(1));
    down = false;
    const int before = woken;
    clock.advance(1s);
    work();
    EXPECT_THAT(core->status().open_circuits, ElementsAre("far")) << "it gets one at a time";
    EXPECT_GT(woken, before);
    report();
    EXPECT_THAT(reported().circuits, IsEmpty());
    down = true;
    put("far");
    work();
    report();
    EXPECT_THAT(reported().circuits, SizeIs(1)) << "down again";
}

TEST_F(WorkerReporterTest, SignsOffOnce) {
    report();
    core->sign_off();
    EXPECT_THAT(store.workers(), IsEmpty());
}

TEST_F(WorkerReporterTest, NothingIsReportedWithoutAnIdentityOrWithoutControls) {
    const auto unknown = std::make_shared<DispatchCore>(store, DispatcherOptions{}, clock, random);
    EXPECT_EQ(unknown->report_step(clock.now(), 1min), Instant::max());
    test::ForwardingStore bare(store);
    const auto without = std::make_shared<DispatchCore>(bare, DispatcherOptions{}, clock, random);
    without->introduce({.host = "h", .pid = 1, .version = "1"});
    EXPECT_EQ(without->report_step(clock.now(), 1min), Instant::max());
    EXPECT_THAT(store.workers(), IsEmpty());
}

}  // namespace
}  // namespace postroom::worker_reporter_test
