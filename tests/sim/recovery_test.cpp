// After a process was killed: how soon everything flows again, and who pays for a message that
// kills. On virtual time, so that figures are the same on every machine.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "postroom/outbox.hpp"
#include "sim/relay.hpp"

namespace postroom::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration handler_takes = 100ms;

class Recovery : public testing::Test {
protected:
    Recovery() { options.worker_count = 6; }

    void put(const std::string& topic, int count, const std::string& payload = "good") {
        std::vector<NewMessage> messages(static_cast<std::size_t>(count));
        for (NewMessage& message : messages) {
            message.topic = TopicName(topic);
            message.payload = payload;
        }
        outbox.enqueue_all(messages);
    }
    // A process takes so many leases and is killed; they run out.
    void lose(std::uint32_t count, int times = 1) {
        for (int i = 0; i < times; ++i) {
            static_cast<void>(store.claim(
                Queue::outbox,
                {.owner = OwnerToken::generate(), .lease = options.lease, .batch = count}));
            clock.advance(options.lease + 1ms);
        }
    }
    std::size_t in_state(State state) {
        return store.find(Queue::outbox, {.state = state, .limit = 10'000}).size();
    }

    std::size_t leased() {
        const std::vector<Message> all = store.find(Queue::outbox, {.limit = 10'000});
        return static_cast<std::size_t>(std::count_if(
            all.begin(), all.end(), [](const Message& m) { return m.lease.has_value(); }));
    }

    ManualClock clock;
    MemoryStore store{clock};
    Outbox outbox{store};
    DispatcherOptions options{.lease = 30s};
};

TEST_F(Recovery, AfterAKillMessagesFlowAtFullRate) {
    put("single", 340);
    lose(340);
    put("single", 600);
    std::size_t most_suspects = 0;
    Relay* at_work = nullptr;
    Relay relay(clock, store, options, handler_takes, [&](const Message&) {
        const std::vector<Message> running = at_work->running();
        const auto suspects = std::count_if(running.begin(), running.end(),
                                            [](const Message& m) { return m.lost_count > 0; });
        most_suspects = std::max(most_suspects, static_cast<std::size_t>(suspects));
        return true;
    });
    at_work = &relay;
    // 60 a second is what six workers can do.
    ASSERT_TRUE(relay.run_until(clock.now() + 5s));
    EXPECT_GE(in_state(State::done), 270U);
    // 15.7 s at best, and a tenth of a lease until the last suspects come again.
    ASSERT_TRUE(relay.run_until(clock.now() + 14s));
    EXPECT_EQ(in_state(State::done), 940U);
    EXPECT_GT(most_suspects, 3U) << "suspects run side by side";
    EXPECT_LE(most_suspects, options.worker_count);
}

TEST_F(Recovery, SuspectsWithNothingBesideThemRunSideBySide) {
    put("single", 340);
    lose(340);
    Relay relay(clock, store, options, handler_takes, [](const Message&) { return true; });
    ASSERT_TRUE(relay.run_until(clock.now() + 7s));  // 5.7 s at best
    EXPECT_EQ(in_state(State::done), 340U);
}

TEST_F(Recovery, SlowSuspectsAreNotClaimedAgainAndAgain) {
    put("single", 340);
    lose(340);
    struct Releases final : Observer {
        void observe(const Event& event) noexcept override {
            count += event.kind == EventKind::released;
        }
        int count = 0;
    } releases;
    options.observer = &releases;
    Relay relay(clock, store, options, 10s, [](const Message&) { return true; });
    ASSERT_TRUE(relay.run_until(clock.now() + 60s));
    EXPECT_GE(in_state(State::done), 30U);
    EXPECT_LT(releases.count, 8000);  // each of them comes again after 3 s
}

TEST_F(Recovery, ASuspectIsNeverInABatch) {
    put("batch", 100);
    lose(60);
    bool alone = true;
    Relay* at_work = nullptr;
    Relay relay(clock, store, options, handler_takes, [&](const Message& m) {
        if (m.lost_count == 0) return true;
        // Everything that the newest call has, it has when its first message is shown.
        alone = alone && at_work->newest_call().size() == 1;
        return true;
    });
    at_work = &relay;
    ASSERT_TRUE(relay.run_until(clock.now() + 3s));
    EXPECT_EQ(in_state(State::done), 100U);
    EXPECT_TRUE(alone);
}

TEST_F(Recovery, TwiceLostMessagesRunWhileNothingElseDoes) {
    put("single", 5);
    lose(5, 2);
    put("single", 200);
    bool alone = true;
    Relay* at_work = nullptr;
    Relay relay(clock, store, options, handler_takes, [&](const Message&) {
        const std::vector<Message> running = at_work->running();
        const bool isolated = std::any_of(running.begin(), running.end(),
                                          [](const Message& m) { return m.lost_count > 1; });
        alone = alone && (!isolated || running.size() == 1);
        return true;
    });
    at_work = &relay;
    // 3.4 s of work for six workers, and five times a pause for one.
    ASSERT_TRUE(relay.run_until(clock.now() + 6s));
    EXPECT_EQ(in_state(State::done), 205U);
    EXPECT_TRUE(alone);
}

// Goal: a message that is sent back has no loss by what starts after it. Method: twice lost
// messages are claimed together with one that kills as it starts; those have no lease then.
TEST_F(Recovery, WhatIsSentBackIsStoredBeforeAnythingStarts) {
    put("single", 1);
    Relay relay(clock, store, options, 10s, [](const Message& m) { return m.payload != "poison"; });
    ASSERT_TRUE(relay.run_until(clock.now() + 1s));
    put("single", 20);
    options.lease = 1s;  // of the processes that lose them
    lose(20, 2);
    put("single", 1, "poison");
    ASSERT_FALSE(relay.run_until(clock.now() + 6s));
    EXPECT_EQ(leased(), 2U) << "the one that runs, and the one that kills";
}

TEST_F(Recovery, SuspectsWithoutASlotAreStoredBeforeAnythingStarts) {
    put("single", 20);
    lose(20);
    Relay relay(clock, store, options, handler_takes, [](const Message&) { return false; });
    ASSERT_FALSE(relay.run_until(clock.now() + 1min));
    EXPECT_EQ(leased(), options.worker_count);
}

class Poison : public Recovery, public testing::WithParamInterface<int> {
protected:
    // Runs processes until one lives; how many died.
    int run_to_the_end() {
        for (int deaths = 0;; ++deaths) {
            Relay relay(clock, store, options, handler_takes,
                        [](const Message& m) { return m.payload != "poison"; });
            if (relay.run_until(clock.now() + 5min)) return deaths;
        }
    }
};

// Goal: neighbours never die with a message that kills, however many of these there are and
// wherever they stand. Method: processes that die are replaced until one lives.
TEST_P(Poison, OnlyTheGuiltyDie) {
    const int poisons = GetParam();
    for (int i = 0; i < poisons; ++i) {
        put("single", 37);
        put("batch", 23);
        put(i % 2 == 0 ? "single" : "batch", 1, "poison");
    }
    put("single", 100);
    const int deaths = run_to_the_end();
    EXPECT_EQ(in_state(State::dead), static_cast<std::size_t>(poisons));
    EXPECT_EQ(in_state(State::done), static_cast<std::size_t>(100 + 60 * poisons));
    for (const Message& message : store.find(Queue::outbox, {.limit = 10'000}))
        EXPECT_EQ(message.state == State::dead, message.payload == "poison");
    EXPECT_LE(deaths, poisons * static_cast<int>(options.crash_limit + 1));
    EXPECT_GE(deaths, static_cast<int>(options.crash_limit + 1));
}

TEST_P(Poison, ALimitOfOneIsEnoughForThat) {
    options.crash_limit = 1;
    for (int i = 0; i < GetParam(); ++i) {
        put("single", 20);
        put("single", 1, "poison");
    }
    run_to_the_end();
    EXPECT_EQ(in_state(State::dead), static_cast<std::size_t>(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Count, Poison, testing::Values(1, 2, 5, 12));

}  // namespace
}  // namespace postroom::sim
