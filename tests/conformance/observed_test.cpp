// What an observer hears of the faces and of a dispatcher, and who hears it when nobody was named.
#include <array>

#include "conformance/dispatcher_law.hpp"
#include "postroom/metrics.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A log of everything, in memory.
class Lines {
public:
    Lines()
        : log_({.write = [this](LogLevel level, std::string_view text) { add(level, text); },
                .min_level = LogLevel::debug,
                .summary_every = 0}) {}

    Observer& observer() { return log_; }
    std::vector<std::string> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(lines_, {});
    }

private:
    void add(LogLevel level, std::string_view text) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(std::string(to_string(level)) + " " + std::string(text));
    }

    std::mutex mutex_;
    std::vector<std::string> lines_;
    LogObserver log_;
};

std::string name(Queue queue, const std::string& line) {
    return (queue == Queue::outbox ? "OUTBOX_" : "INBOX_") + line;
}

const ReceivedMessage paid{
    .topic = "paid", .source = "stripe", .message_id = "m-1", .payload = "{}"};

TEST_P(ObservedOutboxLaw, OBX_085_EnqueuingIsInfoWithTopicAndCorrelationId) {
    Lines lines;
    const Outbox watched(store(), {.queue = {.observer = &lines.observer()}});
    watched.enqueue({.topic = "order.placed", .payload = "{}", .correlation_id = "c-7"});
    EXPECT_THAT(lines.take(),
                ElementsAre(AllOf(StartsWith("INFO OUTBOX_ENQUEUE store="),
                                  HasSubstr(" topic=order.placed correlation_id=c-7"))));
}

TEST_P(ObservedInboxLaw, IBX_108_AnArrivalIsInfoAndADoneMessageThatComesAgainIsNotEnqueued) {
    Lines lines;
    Metrics metrics;
    Observers both{&lines.observer(), &metrics};
    const Inbox watched(store(), {.queue = {.observer = &both}, .on_hash_mismatch = {}});
    watched.enqueue(paid);
    EXPECT_THAT(lines.take(), ElementsAre(AllOf(StartsWith("INFO INBOX_ENQUEUE store="),
                                                HasSubstr(" message_id=m-1 source=stripe"),
                                                HasSubstr(" topic=paid"))));
    watched.mark_processed(paid.key());
    watched.enqueue(paid);
    EXPECT_THAT(lines.take(),
                ElementsAre(AllOf(StartsWith("INFO INBOX_WORKER_DUPLICATE store="),
                                  HasSubstr(" source=stripe"), HasSubstr(" processed=yes"))));
    EXPECT_EQ(metrics.snapshot(Queue::inbox).enqueued, 1U);
    EXPECT_EQ(metrics.snapshot(Queue::inbox).duplicates, 1U);
}

TEST_P(ObservedInboxLaw, IBX_107_EveryCheckIsDebugAndSaysWhetherTheMessageWasProcessed) {
    Lines lines;
    const Inbox watched(store(),
                        {.queue = {.observer = &lines.observer()}, .on_hash_mismatch = {}});
    const auto checked = [](const std::string& processed) {
        return AllOf(StartsWith("DEBUG INBOX_CHECK store="),
                     HasSubstr(" message_id=m-1 source=stripe"),
                     HasSubstr(" processed=" + processed));
    };
    (void)watched.already_processed(paid.key());  // unknown
    (void)watched.already_processed(paid.key());  // seen
    watched.mark_processed(paid.key());
    (void)watched.already_processed(paid.key());
    EXPECT_THAT(lines.take(), ElementsAre(checked("no"), checked("no"), checked("yes")));
}

TEST_P(ObservedLaw, OBX_086_IBX_109_EveryClaimOfAFaceIsDebugWithItsCount) {
    Lines lines;
    put_many(2);
    const std::unique_ptr<WorkQueue> watched = face({.observer = &lines.observer()});
    (void)watched->claim(me, long_lease, 10);
    (void)watched->claim_due(10);
    const std::string fetch = "DEBUG " + name(queue(), "WORKER_FETCH store=");
    EXPECT_THAT(lines.take(), ElementsAre(AllOf(StartsWith(fetch), HasSubstr(" count=2 ")),
                                          AllOf(StartsWith(fetch), HasSubstr(" count=0 "))));
}

TEST_P(ObservedLaw, OBX_089_IBX_112_AReapOfAFaceIsInfoWithItsCount) {
    Lines lines;
    put_many(2);
    ASSERT_EQ(claim(me, 2, short_lease).size(), 2U);
    pass(after_short_lease);
    const std::unique_ptr<WorkQueue> watched = face({.observer = &lines.observer()});
    watched->reap_expired();
    watched->reap_expired();  // nothing is not worth a line
    EXPECT_THAT(lines.take(),
                ElementsAre(AllOf(StartsWith("INFO " + name(queue(), "WORKER_REAP store=")),
                                  HasSubstr(" count=2"))));
}

// Goal: whoever thinks of no observer still learns that handlers fail.
// Method: a dispatcher with default options in that regard; what it wrote to standard error.
TEST_P(ObservedLaw, OBX_088_IBX_111_AThrowingHandlerIsAnErrorLineThoughNobodyWasNamedToHear) {
    const WorkItemId id = put({.payload = "secret-payload", .max_attempts = 2});
    DispatcherOptions options = quick();
    options.observer = nullptr;
    testing::internal::CaptureStderr();
    {
        Dispatcher dispatcher(store(), options);
        dispatcher.on("order.placed",
                      [](const Message&) { throw std::runtime_error("the mail server said no"); });
        dispatcher.start();
        EXPECT_TRUE(eventually_state(id, State::dead));
    }
    const std::string log = testing::internal::GetCapturedStderr();
    const std::string message_id = " message_id=" + get(id).message_id.str();
    EXPECT_THAT(log, HasSubstr(" ERROR " + name(queue(), "WORKER_DISPATCH_FAIL store=")));
    EXPECT_THAT(log, HasSubstr(" ERROR " + name(queue(), "WORKER_DEAD store=")));
    EXPECT_THAT(log, AllOf(HasSubstr(message_id), HasSubstr("the mail server said no")));
    EXPECT_THAT(log, AllOf(Not(HasSubstr(" INFO ")), Not(HasSubstr(" DEBUG ")),
                           Not(HasSubstr("secret-payload"))));
}

TEST_P(ObservedLaw, OBX_088_IBX_111_SoIsOneThatProcessOneCalls) {
    put();
    Routes routes;
    routes.on("order.placed",
              [](const Message&) { throw std::runtime_error("the mail server said no"); });
    testing::internal::CaptureStderr();
    (void)process_one(work(), routes);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr(" ERROR " + name(queue(), "WORKER_DISPATCH_FAIL store=")));
    EXPECT_THAT(log, AllOf(HasSubstr(" message_id="), HasSubstr(" topic=order.placed"),
                           HasSubstr("the mail server said no")));
}

TEST_P(ObservedLaw, OBX_087_IBX_110_ProcessOneTellsOfTheCallAndItsEnd) {
    put();
    Lines lines;
    const std::unique_ptr<WorkQueue> watched = face({.observer = &lines.observer()});
    Routes routes;
    routes.on("order.placed", [](const Message&) {});
    (void)process_one(*watched, routes);
    EXPECT_THAT(lines.take(),
                ElementsAre(StartsWith("DEBUG " + name(queue(), "WORKER_FETCH")),
                            AllOf(StartsWith("DEBUG " + name(queue(), "WORKER_DISPATCH_START")),
                                  HasSubstr(" topic=order.placed")),
                            StartsWith("INFO " + name(queue(), "WORKER_DISPATCH_SUCCESS"))));
}

TEST_P(ObservedLaw, SilenceIsOneOption) {
    const WorkItemId id = put({.max_attempts = 1});
    DispatcherOptions options = quick();
    options.observer = &silence();
    testing::internal::CaptureStderr();
    {
        Dispatcher dispatcher(store(), options);
        dispatcher.on("order.placed", [](const Message&) { throw std::runtime_error("no"); });
        dispatcher.start();
        EXPECT_TRUE(eventually_state(id, State::dead));
    }
    const std::unique_ptr<WorkQueue> hushed = face({.observer = &silence()});
    EXPECT_EQ(hushed->ack(me, std::array{id}), 0U);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
}

// Goal: the figures of 001 16.1 are reported, not only declared.
// Method: one message that runs, one behind it in memory, and a clock that goes on.
TEST_P(ObservedLaw, S001_16_1_DepthsAndTheAgeOfTheOldestAreReported) {
    put_many(2);
    DispatcherOptions options = quick();
    options.worker_count = 1;
    options.hot_capacity = 0;
    Metrics metrics;
    options.observer = &metrics;
    std::atomic<bool> go_on = false;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message&) {
        while (!go_on) std::this_thread::sleep_for(1ms);
    });
    dispatcher.start();
    EXPECT_TRUE(eventually([&] {
        const MetricsSnapshot figures = metrics.snapshot(queue());
        return figures.cold_depth == 1 && figures.oldest_lag > 20ms;
    }));
    go_on = true;
}

// Goal: leases of dead workers come back though the dispatcher has no room to claim anything.
// Method: one message runs and one fills the queue; a third is leased by a worker that goes away.
TEST_P(ObservedLaw, OBX_053_IBX_072_ADispatcherReapsWhileItCannotClaim) {
    const std::vector<WorkItemId> first = put_many(2);
    DispatcherOptions options = quick();
    options.worker_count = 1;
    options.hot_capacity = 0;
    options.cold_capacity = 1;
    options.batch = 1;
    std::atomic<bool> go_on = false;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message&) {
        while (!go_on) std::this_thread::sleep_for(1ms);
    });
    dispatcher.start();
    ASSERT_TRUE(eventually([&] { return dispatcher.status().in_flight == 2; }));
    const WorkItemId lost = put();
    ASSERT_EQ(ids_of(claim(other, 10, short_lease)), std::vector{lost});
    EXPECT_TRUE(eventually([&] { return heard.count(EventKind::reaped) > 0; }));
    EXPECT_EQ(get(lost).lost_count, 1U);
    go_on = true;
}

// Goal: history does not grow without end because nobody purges by hand.
TEST_P(ObservedLaw, IBX_098_ADispatcherPurgesWhatIsOlderThanTheRetention) {
    put_many(3);
    DispatcherOptions options = quick();
    options.retention = 1ms;
    options.purge_interval = 20ms;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [](const Message&) {});
    dispatcher.start();
    EXPECT_TRUE(eventually([&] {
        return heard.count(EventKind::delivered) == 3 && heard.count(EventKind::purged) > 0 &&
               store().find(queue(), {}).empty();
    }));
}

TEST_P(UpkeepLaw, IBX_098_DoneMessagesOfTheOtherQueueArePurgedToo) {
    if (queue() == Queue::outbox) {
        inbox().enqueue(paid);
        inbox().mark_processed(paid.key());
    } else {
        outbox().enqueue({.topic = "t", .payload = "p"});
        outbox().ack(outbox().claim_due(1));
    }
    const Queue other_queue = queue() == Queue::outbox ? Queue::inbox : Queue::outbox;
    ASSERT_FALSE(store().find(other_queue, {}).empty());
    DispatcherOptions options = quick();
    options.retention = Duration::zero();
    options.other_queue_retention = 1ms;
    options.purge_interval = 20ms;
    Dispatcher dispatcher(store(), options);
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return store().find(other_queue, {}).empty(); }));
}

// Goal: dead messages stay for people to look at, unless they were told to go.
// Method: what is purged beside them shows that purges have run.
TEST_P(UpkeepLaw, IBX_098_DeadMessagesGoOnlyWhenTheirRetentionSaysSo) {
    const WorkItemId dead = put();
    work().fail(claim_one(), "for good");
    put();
    work().ack(claim_one());
    DispatcherOptions options = quick();
    options.retention = 1ms;
    options.purge_interval = 20ms;
    {
        Dispatcher dispatcher(store(), options);
        dispatcher.start();
        ASSERT_TRUE(eventually([&] { return heard.count(EventKind::purged) > 0; }));
    }
    EXPECT_EQ(get(dead).state, State::dead);
    options.retention = Duration::zero();
    options.dead_retention = 1ms;
    Dispatcher dispatcher(store(), options);
    dispatcher.start();
    EXPECT_TRUE(eventually([&] { return store().find(queue(), {.state = State::dead}).empty(); }));
}

}  // namespace
}  // namespace postroom::test
