// Doorbells: a hint from a process that committed something to those that claim.
#include <atomic>
#include <thread>

#include "conformance/law.hpp"

namespace postroom::test {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

constexpr Duration bell_patience = 2s;
constexpr Duration quiet = 300ms;
// For what is nearly instant, on a machine that has other things to do.
constexpr Duration at_once = 10s;
constexpr Duration patience = 30s;

Duration since(steady_clock::time_point start) {
    return std::chrono::duration_cast<Duration>(steady_clock::now() - start);
}

// How often it is heard until it is quiet.
int times_heard(Doorbell& bell) {
    int heard = 0;
    while (bell.wait(quiet, {})) ++heard;
    return heard;
}

// A ring is a hint, and one that meets a busy server may be lost: it is repeated until it is heard.
// How many it took; none was heard: 0.
template <class Ring>
int heard_after(const Ring& ring, Doorbell& bell) {
    const auto start = steady_clock::now();
    int rings = 0;
    do {
        ring();
        ++rings;
        if (bell.wait(bell_patience, {})) return rings;
    } while (since(start) < patience);
    return 0;
}

}  // namespace

std::unique_ptr<Doorbell> DoorbellLaw::listening() {
    listeners_.push_back(sandbox().reopen());
    std::unique_ptr<Doorbell> bell = listeners_.back()->doorbell(queue());
    // Some begin to listen with the first wait(), and say so as soon as they do; the others always
    // did. A ring of ours might come late, in the midst of a test. A busy server may let a listener
    // in later than the bell waits for it: then it throws, and begins again.
    const auto start = steady_clock::now();
    for (bool listens = false; !listens;) {
        try {
            if (!bell->wait(quiet, {})) bell->listen({});
            listens = true;
        } catch (const Error&) {
            if (since(start) > patience) throw;
        }
    }
    times_heard(*bell);
    return bell;
}

// Past the faces, which ring a bell of their own.
void DoorbellLaw::put_and_ring(Doorbell& bell) {
    static std::atomic<int> count = 0;
    const std::string id = "rung-" + std::to_string(++count);
    if (queue() == Queue::outbox) {
        const NewMessage message{.topic = "t", .payload = "p", .message_id = MessageId(id)};
        store().enqueue(nullptr, std::span(&message, 1));
    } else {
        const ReceivedMessage message{
            .topic = "t", .source = "shop", .message_id = id, .payload = "p"};
        store().receive(nullptr, std::span(&message, 1));
    }
    bell.ring();
}

namespace {

TEST_P(DoorbellLaw, ARingWakesAThreadThatWaitsOnAnotherStore) {
    const auto theirs = listening();
    const auto ours = store().doorbell(queue());
    std::atomic<bool> heard = false;
    Duration took{};
    {
        const std::jthread waiter([&] {
            const auto start = steady_clock::now();
            heard = theirs->wait(2 * patience, {});
            took = since(start);
        });
        const auto start = steady_clock::now();
        while (!heard && since(start) < patience) {
            std::this_thread::sleep_for(50ms);
            put_and_ring(*ours);
        }
    }
    EXPECT_TRUE(heard);
    EXPECT_LT(took, 2 * patience);
}

TEST_P(DoorbellLaw, AnEnqueueRingsByItself) {
    const auto theirs = listening();
    EXPECT_GT(heard_after([&] { put(); }, *theirs), 0);
}

TEST_P(DoorbellLaw, ARingBeforeTheWaitIsHeardOnce) {
    const auto theirs = listening();
    const auto ours = store().doorbell(queue());
    const int rings = heard_after([&] { put_and_ring(*ours); }, *theirs);
    EXPECT_GT(rings, 0);
    EXPECT_LT(times_heard(*theirs), rings) << "more often than it was rung";
}

TEST_P(DoorbellLaw, EveryListenerHears) {
    const auto first = listening();
    const auto second = listening();
    const auto ours = store().doorbell(queue());
    times_heard(*first);
    EXPECT_GT(heard_after([&] { put_and_ring(*ours); }, *first), 0);
    EXPECT_TRUE(second->wait(patience, {}));
}

TEST_P(DoorbellLaw, SilenceEndsWithTheTimeoutAndNotBefore) {
    const auto theirs = listening();
    const auto start = steady_clock::now();
    EXPECT_FALSE(theirs->wait(200ms, {}));
    EXPECT_GE(since(start), 200ms);
    EXPECT_LT(since(start), 200ms + at_once);
}

TEST_P(DoorbellLaw, ATimeoutOfZeroOrLessOnlyLooks) {
    const auto theirs = listening();
    const auto start = steady_clock::now();
    EXPECT_FALSE(theirs->wait(0s, {}));
    EXPECT_FALSE(theirs->wait(-1s, {}));
    EXPECT_LT(since(start), at_once);
}

TEST_P(DoorbellLaw, AStopEndsAWaitWithoutLimitAtOnce) {
    const auto theirs = listening();
    std::atomic<bool> heard = true;
    std::jthread waiter(
        [&](const std::stop_token& stop) { heard = theirs->wait(Duration::max(), stop); });
    std::this_thread::sleep_for(50ms);
    const auto start = steady_clock::now();
    waiter.request_stop();
    waiter.join();
    EXPECT_LT(since(start), at_once);
    EXPECT_FALSE(heard);
}

TEST_P(DoorbellLaw, AStopBeforeTheWaitEndsItAtOnceAndTheNextOneHears) {
    const auto theirs = listening();
    std::stop_source stop;
    stop.request_stop();
    const auto start = steady_clock::now();
    EXPECT_FALSE(theirs->wait(2 * at_once, stop.get_token()));
    EXPECT_LT(since(start), at_once);
    const auto ours = store().doorbell(queue());
    EXPECT_GT(heard_after([&] { put_and_ring(*ours); }, *theirs), 0);
}

TEST_P(DoorbellLaw, AStormOfRingsIsQuickAndHeardAsFew) {
    const auto theirs = listening();
    const auto ours = store().doorbell(queue());
    put_and_ring(*ours);
    const auto start = steady_clock::now();
    for (int i = 0; i < 10'000; ++i) ours->ring();
    EXPECT_LT(since(start), at_once);
    const int heard = times_heard(*theirs);
    EXPECT_LE(heard, 1 + (bell_patience + since(start)) / 10ms);
    EXPECT_TRUE(heard >= 1 || heard_after([&] { put_and_ring(*ours); }, *theirs) > 0);
}

TEST_P(DoorbellLaw, ThreadsRingConcurrentlyWhileOneWaits) {
    const auto theirs = listening();
    const auto ours = store().doorbell(queue());
    std::atomic<int> heard = 0;
    {
        const std::jthread waiter([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                if (theirs->wait(patience, stop)) ++heard;
            }
        });
        put();
        in_parallel(4, [&](int) {
            for (int i = 0; i < 1'000; ++i) ours->ring();
        });
        const auto start = steady_clock::now();
        while (heard == 0 && since(start) < patience) {
            std::this_thread::sleep_for(5ms);
            ours->ring();
        }
    }
    EXPECT_GE(heard, 1);
}

TEST_P(DoorbellLaw, ABellThatNobodyUsedEndsQuietly) {
    EXPECT_NE(store().doorbell(queue()), nullptr);
    const auto ours = store().doorbell(queue());
    ours->ring();
}

TEST_P(DoorbellPerQueueLaw, AQueueDoesNotHearTheOther) {
    const auto theirs = listening();
    const Queue other_queue = queue() == Queue::outbox ? Queue::inbox : Queue::outbox;
    const auto others = store().doorbell(other_queue);
    others->ring();
    EXPECT_FALSE(theirs->wait(500ms, {}));
    const auto ours = store().doorbell(queue());
    EXPECT_GT(heard_after([&] { put_and_ring(*ours); }, *theirs), 0);
}

}  // namespace
}  // namespace postroom::test
