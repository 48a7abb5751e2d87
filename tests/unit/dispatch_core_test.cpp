// The dispatcher without threads: the ends of its ways in and out.
#include "dispatch/dispatch_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/random.hpp"
#include "conformance/forwarding_store.hpp"
#include "outbox/hot_ticket.hpp"
#include "postroom/error.hpp"
#include "postroom/metrics.hpp"
#include "postroom/testing.hpp"

namespace postroom::dispatch_core_test {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

// Does what a test wants before it claims or finds anything.
class HookedStore final : public test::ForwardingStore {
public:
    using ForwardingStore::ForwardingStore;
    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop) override {
        before_claim();
        return inner().claim(queue, request, stop);
    }
    std::vector<Message> find(Queue queue, const Query& query) override {
        before_find(query);
        return inner().find(queue, query);
    }

    std::function<void()> before_claim = [] {};
    std::function<void(const Query&)> before_find = [](const Query&) {};
};

[[noreturn]] void be_away() { throw Error(ErrorKind::unavailable, "away"); }

class DispatchCoreTest : public testing::Test {
protected:
    DispatchCoreTest() {
        core->routes().on("t", [](const Message&) {});
        core->routes().on_async("later", [this](Delivery delivery) { kept = std::move(delivery); });
    }
    ~DispatchCoreTest() override { core->disconnect(); }

    // Written by this process, and not handed over yet.
    struct Written {
        BornLease born;
        Message message;
    };
    Written write() {
        NewMessage message{.topic = "t", .payload = "p", .message_id = MessageId("m")};
        const BornLease born = core->reserve(std::span(&message, 1)).value();
        const EnqueueResult result = memory.enqueue(nullptr, std::span(&message, 1), &born).at(0);
        return {born, as_stored(message, result, born, clock.now())};
    }
    void hand_over(const Written& written, bool certain = true) {
        core->hand_over(written.born, {written.message}, certain);
    }
    void settle_all() {
        while (!core->all_settled()) core->settle_step(clock.now(), true);
    }
    std::uint64_t ready() { return memory.counts(Queue::outbox).ready; }

    ManualClock clock;
    ManualClock clock_of_store{Instant{1h}};
    MemoryStore memory{clock_of_store};
    HookedStore store{memory};
    base::SystemRandom random;
    std::vector<std::string> lines;
    LogObserver log{{.write = [this](LogLevel, std::string_view text) { lines.emplace_back(text); },
                     .min_level = LogLevel::error,
                     .clock = &clock}};
    std::optional<Delivery> kept;
    std::shared_ptr<DispatchCore> core = std::make_shared<DispatchCore>(
        store, DispatcherOptions{.lease = 30s, .hot_capacity = 4, .observer = &log}, clock, random);
};

// The log of errors too, which has no line for the end of the first.
TEST_F(DispatchCoreTest, TheLogTellsOfEachOutage) {
    for (std::size_t outages = 1; outages <= 2; ++outages) {
        store.before_claim = be_away;
        core->nudge();
        core->claim_step(clock.now());
        EXPECT_THAT(lines, SizeIs(outages));
        store.before_claim = [] {};
        clock.advance(10s);
        core->claim_step(clock.now());
    }
}

// Goal: a failed attempt tells when it was claimed, by the database's clock, and how long it took,
// without the time it waited for its turn. Method: its handler goes on past a renewal.
TEST_F(DispatchCoreTest, AFailedAttemptTellsItsClaimAndItsDuration) {
    core->routes().on("slow", [this](const Message&) {
        clock.advance(12s);
        clock_of_store.advance(12s);
        core->keep_step(clock.now());
        throw std::runtime_error("too slow");
    });
    const std::array<NewMessage, 1> message{
        NewMessage{.topic = "slow", .payload = "p", .message_id = MessageId("m")}};
    const WorkItemId id = memory.enqueue(nullptr, message).at(0).id;
    const Instant claimed_at = memory.now();
    core->nudge();
    core->claim_step(clock.now());
    clock.advance(1s);
    clock_of_store.advance(1s);
    core->run(core->take(clock.now()).value());
    settle_all();
    const std::vector<FailedAttempt> attempts = memory.attempts(Queue::outbox, id);
    ASSERT_THAT(attempts, SizeIs(1));
    EXPECT_EQ(attempts[0].claimed_at, claimed_at);
    EXPECT_EQ(attempts[0].took, Duration(12s));
    EXPECT_EQ(attempts[0].at, claimed_at + 13s);
}

TEST_F(DispatchCoreTest, WhetherAMessageIsThereIsAskedWithoutItsPayload) {
    std::vector<bool> payloads;
    store.before_find = [&](const Query& query) { payloads.push_back(query.payloads); };
    hand_over(write(), /*certain=*/false);
    core->claim_step(clock.now());
    EXPECT_THAT(payloads, testing::ElementsAre(false));
    EXPECT_EQ(core->take(clock.now()).value().messages.at(0).payload, "p");
}

TEST_F(DispatchCoreTest, AHandOverInTheLastMomentOfClosingIsReleased) {
    const Written late = write();
    core->begin_close();
    settle_all();
    hand_over(late);  // the last step was taken
    core->disconnect();
    core->settle_late();
    EXPECT_EQ(ready(), 1U);
}

TEST_F(DispatchCoreTest, AHandOverAfterTheEndIsReleased) {
    const Written late = write();
    core->begin_close();
    core->disconnect();
    hand_over(late);
    EXPECT_EQ(ready(), 1U);
}

TEST_F(DispatchCoreTest, WhatCouldNotBeLookedUpBeforeClosingIsReleased) {
    hand_over(write(), /*certain=*/false);
    store.before_find = [&](const Query&) {
        core->begin_close();
        be_away();
    };
    core->claim_step(clock.now());
    settle_all();
    EXPECT_EQ(ready(), 1U);
}

TEST_F(DispatchCoreTest, AnOutcomeAfterTheEndRunsNoInterceptor) {
    class Counting final : public Interceptor {
    public:
        explicit Counting(int& count) : count_(count) {}
        void after(const Message&, std::string_view) override { ++count_; }

    private:
        int& count_;
    };
    int ended = 0;
    core->intercept(std::make_shared<Counting>(ended));
    const auto deliver = [&](const char* id) {
        const NewMessage message{.topic = "later", .payload = "", .message_id = MessageId(id)};
        memory.enqueue(nullptr, std::span(&message, 1));
        core->nudge();
        core->claim_step(clock.now());
        core->run(core->take(clock.now()).value());
    };
    deliver("in time");
    kept->done();
    EXPECT_EQ(ended, 1);
    settle_all();
    deliver("too late");
    core->disconnect();
    kept->done();
    EXPECT_EQ(ended, 1);
}

// Of a message that was claimed they are, and end-to-end times are taken from them.
TEST_F(DispatchCoreTest, TheTimesOfAHotMessageAreThoseOfTheDatabase) {
    const NewMessage first{.topic = "t", .payload = "", .message_id = MessageId("claimed")};
    memory.enqueue(nullptr, std::span(&first, 1));
    core->claim_step(clock.now());
    core->run(core->take(clock.now()).value());
    clock.advance(5s);
    clock_of_store.advance(5s);
    hand_over(write());
    const Message hot = core->take(clock.now()).value().messages.at(0);
    EXPECT_EQ(hot.created_at, clock_of_store.now());
    EXPECT_EQ(hot.available_at, clock_of_store.now());
    EXPECT_EQ(hot.lease->locked_until, clock_of_store.now() + 30s);
}

TEST_F(DispatchCoreTest, RoomForWhatTheDatabaseDroppedIsGivenBack) {
    const std::vector<NewMessage> two(2, NewMessage{.topic = "t", .payload = ""});
    const BornLease born = core->reserve(two).value();
    Message stored;
    stored.id = WorkItemId(1, 1);
    stored.topic = "t";
    stored.lease = Lease{.id = stored.id, .lease_id = born.lease_id, .owner = born.owner};
    core->hand_over(born, {stored}, true);
    const std::vector<NewMessage> three(3, two.front());
    EXPECT_NE(core->reserve(three), std::nullopt);
}

// A core of which the figures are looked at.
class DispatchFigures : public DispatchCoreTest {
protected:
    DispatchFigures() {
        core = std::make_shared<DispatchCore>(
            store,
            DispatcherOptions{
                .lease = 30s, .hot_capacity = 4, .cold_capacity = 50, .observer = &metrics},
            clock, random);
        core->routes().on("t", [](const Message&) {});
        for (const char* const id : {"first", "second"}) {
            const NewMessage message{.topic = "t", .payload = "", .message_id = MessageId(id)};
            memory.enqueue(nullptr, std::span(&message, 1));
        }
        core->claim_step(clock.now());
    }

    MetricsSnapshot figures() const { return metrics.snapshot(Queue::outbox); }
    Work take() { return core->take(clock.now()).value(); }

    Metrics metrics;
};

// Goal: whoever looks at the figures of a queue that rests need not wait for the next round.
TEST_F(DispatchFigures, WhatIsHeldIsToldInEachRoundAndWhenNothingIsLeft) {
    core->maintain_step(clock.now());
    EXPECT_EQ(figures().cold_depth, 2U);
    EXPECT_EQ(figures().in_flight, 2U);
    EXPECT_EQ(figures().hot_capacity, 4U);
    EXPECT_EQ(figures().cold_capacity, 50U);
    core->run(take());
    settle_all();
    EXPECT_EQ(figures().in_flight, 2U) << "one is still held; the next round will tell";
    core->run(take());
    settle_all();
    EXPECT_EQ(figures().cold_depth, 0U);
    EXPECT_EQ(figures().in_flight, 0U);
}

// Goal: an outcome that nobody wants any more is told from a lease that could not be renewed.
TEST_F(DispatchFigures, AnOutcomeThatComesTooLateIsToldFromALostLease) {
    Work late = take();
    clock_of_store.advance(31s);
    memory.reap(Queue::outbox, 10);
    clock.advance(20s);
    core->keep_step(clock.now());
    EXPECT_EQ(figures().lost, 2U);
    EXPECT_EQ(figures().stale_settles, 0U) << "nothing was delivered yet";
    core->run(std::move(late));
    settle_all();
    EXPECT_EQ(figures().lost, 3U);
    EXPECT_EQ(figures().stale_settles, 1U);
}

}  // namespace
}  // namespace postroom::dispatch_core_test
