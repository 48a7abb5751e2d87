// Lost messages that are sent back, and the dispatcher that waits for the store's answer.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "conformance/forwarding_store.hpp"
#include "dispatch/dispatch_core.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"

namespace postroom::sent_back_test {
namespace {

using namespace std::chrono_literals;

// Its settles throw while `broken` is set.
class SettlesThrow final : public test::ForwardingStore {
public:
    using ForwardingStore::ForwardingStore;

    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override {
        if (broken) throw Error(*broken, "broken");
        return ForwardingStore::settle(tx, queue, settlements);
    }

    std::optional<ErrorKind> broken{};
};

// A handler runs, and two isolated messages are there to be claimed beside a usual one.
class SentBack : public testing::Test {
protected:
    SentBack() {
        core->routes().on("t", [](const Message&) {});
        core->connect({.workers = [this](std::size_t count) { workers_woken += count; },
                       .settler = [this] { ++settler_woken; }});
        put();
        core->claim_step(clock.now());
        running = core->take(clock.now());
        put();
        put();
        for (int i = 0; i < 2; ++i) lose(2);
        workers_woken = 0;
    }
    ~SentBack() override { core->disconnect(); }

    void put() { outbox.enqueue({.topic = "t", .payload = ""}); }
    void lose(std::uint32_t count) {
        static_cast<void>(memory.claim(
            Queue::outbox, {.owner = OwnerToken::generate(), .lease = 1s, .batch = count}));
        clock.advance(2s);
    }
    void claim_with_a_usual_one() {
        put();
        core->nudge();
        core->claim_step(clock.now());
    }

    ManualClock clock;
    MemoryStore memory{clock};
    SettlesThrow store{memory};
    Outbox outbox{memory};
    base::SystemRandom random;
    std::size_t workers_woken = 0;
    int settler_woken = 0;
    std::shared_ptr<DispatchCore> core =
        std::make_shared<DispatchCore>(store, DispatcherOptions{.lease = 30s}, clock, random);
    std::optional<Work> running;
};

TEST_F(SentBack, NothingStartsAndNothingIsClaimedUntilTheStoreHasAnswered) {
    claim_with_a_usual_one();
    EXPECT_EQ(settler_woken, 1);
    EXPECT_EQ(workers_woken, 0U);
    EXPECT_FALSE(core->take(clock.now()));
    core->settle_step(clock.now());  // at once, without waiting for others
    EXPECT_EQ(workers_woken, 1U);
    EXPECT_TRUE(core->take(clock.now()));
}

TEST_F(SentBack, AStoreThatIsAwayStopsNobody) {
    claim_with_a_usual_one();
    store.broken = ErrorKind::unavailable;
    core->settle_step(clock.now());
    EXPECT_EQ(workers_woken, 1U);
    EXPECT_TRUE(core->take(clock.now()));
    store.broken.reset();
    clock.advance(1s);
    core->settle_step(clock.now());
    EXPECT_TRUE(core->all_settled());
}

TEST_F(SentBack, AStoreThatRefusesStopsNobody) {
    claim_with_a_usual_one();
    store.broken = ErrorKind::misuse;
    core->settle_step(clock.now());
    EXPECT_TRUE(core->take(clock.now()));
    while (!core->all_settled()) core->settle_step(clock.now());
}

// Goal: a crash of another message is not counted against one that was delivered in isolation.
TEST_F(SentBack, NothingStartsBeforeTheStoreKnowsTheOutcomeOfAnIsolatedOne) {
    core->run(*std::exchange(running, {}));
    core->settle_step(clock.now(), /*all=*/true);
    // Of the two isolated ones, one is left.
    const std::vector<Message> other =
        memory.claim(Queue::outbox, {.owner = OwnerToken::generate(), .lease = 1min, .batch = 1});
    ASSERT_EQ(other.size(), 1U);
    core->nudge();
    core->claim_step(clock.now());
    std::optional<Work> isolated = core->take(clock.now());
    ASSERT_TRUE(isolated);
    ASSERT_EQ(isolated->care, Care::isolated);
    core->run(*std::exchange(isolated, {}));
    claim_with_a_usual_one();
    EXPECT_FALSE(core->take(clock.now()));
    core->settle_step(clock.now());
    core->nudge();
    core->claim_step(clock.now());
    EXPECT_TRUE(core->take(clock.now()));
}

TEST_F(SentBack, ADrainWithNothingInFlightEndsToo) {
    claim_with_a_usual_one();
    const Instant began = clock.now();
    core->settle_step(clock.now());
    core->run(*std::exchange(running, {}));
    core->run(*core->take(clock.now()));
    core->settle_step(clock.now(), /*all=*/true);
    ASSERT_EQ(core->status().in_flight, 0U);
    EXPECT_EQ(core->keep_step(clock.now()), began + 30s);
}

}  // namespace
}  // namespace postroom::sent_back_test
