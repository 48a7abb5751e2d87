#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "postroom/observer.hpp"

namespace postroom::log_observer_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

struct Line {
    LogLevel level{};
    std::string text{};

    friend bool operator==(const Line&, const Line&) = default;
    friend void PrintTo(const Line& line, std::ostream* out) {
        *out << to_string(line.level) << ' ' << line.text;
    }
};

// What a LogObserver with these options writes.
class Log {
public:
    explicit Log(LogOptions options = {.min_level = LogLevel::debug})
        : observer_([this, &options] {
              options.write = [this](LogLevel level, std::string_view text) {
                  const std::lock_guard lock(mutex_);
                  lines_.push_back({level, std::string(text)});
              };
              return options;
          }()) {}

    void observe(const Event& event) { observer_.observe(event); }

    std::vector<Line> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(lines_, {});
    }
    // The one line that `event` gives.
    Line line(const Event& event) {
        observe(event);
        const std::vector<Line> lines = take();
        EXPECT_THAT(lines, SizeIs(1));
        return lines.empty() ? Line{} : lines.front();
    }

private:
    std::mutex mutex_;
    std::vector<Line> lines_;
    LogObserver observer_;
};

const WorkItemId work_item(7, 9);

Message outbox_message() {
    Message message;
    message.id = work_item;
    message.message_id = MessageId("01HX");
    message.topic = "order.placed";
    message.correlation_id = "corr-1";
    message.tenant_id = "acme";
    message.idempotency_key = "key-1";
    return message;
}

Message inbox_message() {
    Message message = outbox_message();
    message.queue = Queue::inbox;
    message.source = "stripe";
    message.idempotency_key = "";
    return message;
}

// An event with all its members set, so that every line has something to say.
Event full_event(EventKind kind, const Message& message) {
    return {.kind = kind,
            .queue = message.queue,
            .store = "main",
            .message = &message,
            .count = 3,
            .error = "no route to host",
            .operation = "claim",
            .destination = "https://example.com",
            .reason = DeadReason::max_attempts,
            .attempts = 2,
            .max_attempts = 10,
            .duration = 1500us,
            .delay = 4s,
            .hot_depth = 1,
            .cold_depth = 2};
}

struct Expectation {
    EventKind kind;
    LogLevel level;
    std::string outbox_line;  // "" when nothing is said
};

// Keeps the order of the enum, which shows that none was forgotten.
std::vector<Expectation> expectations() {
    const std::string id =
        " store=main id=" + work_item.to_string() + " message_id=01HX topic=order.placed";
    const std::string keyed = id + " key=key-1";
    const std::string sent_to = " destination=https://example.com";
    const std::string error = " error=\"no route to host\"";
    using enum EventKind;
    return {
        {enqueued, LogLevel::info, "OUTBOX_ENQUEUE" + id + " correlation_id=corr-1"},
        {duplicate, LogLevel::info,
         "OUTBOX_WORKER_DUPLICATE store=main tenant=acme key=key-1 id=" + work_item.to_string() +
             " message_id=01HX topic=order.placed correlation_id=corr-1"},
        {checked, LogLevel::debug, "OUTBOX_CHECK" + id + " processed=no"},
        {hot_enqueued, LogLevel::debug, "OUTBOX_HOT_ENQUEUE store=main count=3"},
        {hot_dropped, LogLevel::warning, "OUTBOX_HOT_DROP store=main count=3"},
        {cold_enqueued, LogLevel::debug, "OUTBOX_COLD_ENQUEUE store=main count=3"},
        {claimed, LogLevel::debug, "OUTBOX_WORKER_FETCH store=main count=3 duration_ms=1.500"},
        {started, LogLevel::debug, "OUTBOX_WORKER_DISPATCH_START" + keyed},
        {delivered, LogLevel::info,
         "OUTBOX_WORKER_DISPATCH_SUCCESS" + keyed + sent_to + " duration_ms=1.500"},
        {retried, LogLevel::error,
         "OUTBOX_WORKER_DISPATCH_FAIL" + keyed + sent_to + " retry=2 max=10 delay_ms=4000.000" +
             error},
        {dead, LogLevel::error,
         "OUTBOX_WORKER_DEAD" + keyed + sent_to + " reason=max_attempts" + error},
        {released, LogLevel::debug, "OUTBOX_WORKER_RELEASE" + keyed + " delay_ms=4000.000" + error},
        {unroutable, LogLevel::warning, "OUTBOX_WORKER_UNROUTABLE" + keyed},
        {lost, LogLevel::warning, "OUTBOX_WORKER_SKIP_PROCESSED" + keyed},
        {reaped, LogLevel::info, "OUTBOX_WORKER_REAP store=main count=3"},
        {purged, LogLevel::info, "OUTBOX_WORKER_PURGE store=main count=3"},
        {circuit_opened, LogLevel::warning,
         "OUTBOX_WORKER_CIRCUIT_OPEN store=main destination=https://example.com"
         " delay_ms=4000.000" +
             error},
        {circuit_closed, LogLevel::info,
         "OUTBOX_WORKER_CIRCUIT_CLOSE store=main destination=https://example.com"},
        {interceptor_failed, LogLevel::error, "OUTBOX_WORKER_INTERCEPTOR_FAIL" + keyed + error},
        {hash_mismatch, LogLevel::warning, "OUTBOX_HASH_MISMATCH" + keyed},
        {store_failed, LogLevel::error, "OUTBOX_STORE_FAIL store=main operation=claim" + error},
        {store_waits, LogLevel::warning,
         "OUTBOX_STORE_WAIT store=main operation=claim unanswered_ms=1.500"},
        {queue_depths, LogLevel::debug, ""},
        {oldest_lag, LogLevel::debug, ""},
    };
}

TEST(LogObserver, O7_EveryEventHasItsLineAndLevelOrIsSilentOnPurpose) {
    Log log;
    const Message message = outbox_message();
    std::size_t next = 0;
    for (const Expectation& expected : expectations()) {
        EXPECT_EQ(static_cast<std::size_t>(expected.kind), next++);
        log.observe(full_event(expected.kind, message));
        if (expected.outbox_line.empty()) {
            EXPECT_THAT(log.take(), IsEmpty());
        } else {
            EXPECT_THAT(log.take(), ElementsAre(Line{expected.level, expected.outbox_line}));
        }
    }
    EXPECT_EQ(next, static_cast<std::size_t>(EventKind::oldest_lag) + 1);
}

TEST(LogObserver, TheInboxSaysTheSameUnderItsOwnName) {
    Log log;
    const Message message = inbox_message();
    for (const Expectation& expected : expectations()) {
        if (expected.outbox_line.empty()) continue;
        const std::string name =
            "IN" + expected.outbox_line.substr(3, expected.outbox_line.find(' ') - 3);
        const Line line = log.line(full_event(expected.kind, message));
        EXPECT_THAT(line.text, StartsWith(name + " store=main "));
        EXPECT_EQ(line.level, expected.level) << name;
    }
}

TEST(LogObserver, OBX_085_EnqueuingIsInfoWithTopicAndCorrelationId) {
    Log log;
    const Message message = outbox_message();
    const Line line = log.line({.kind = EventKind::enqueued, .store = "main", .message = &message});
    EXPECT_EQ(line.level, LogLevel::info);
    EXPECT_THAT(line.text, AllOf(StartsWith("OUTBOX_ENQUEUE "), HasSubstr(" topic=order.placed"),
                                 HasSubstr(" correlation_id=corr-1")));
    EXPECT_EQ(log.line({.kind = EventKind::enqueued, .store = "main", .count = 4}),
              (Line{LogLevel::info, "OUTBOX_ENQUEUE store=main count=4"}));
}

TEST(LogObserver, IBX_108_EnqueuingIsInfoWithTopicSourceAndMessageId) {
    Log log;
    const Message message = inbox_message();
    const Line line = log.line(full_event(EventKind::enqueued, message));
    EXPECT_EQ(line.level, LogLevel::info);
    EXPECT_THAT(line.text, AllOf(StartsWith("INBOX_ENQUEUE "), HasSubstr(" topic=order.placed"),
                                 HasSubstr(" source=stripe"), HasSubstr(" message_id=01HX")));
}

TEST(LogObserver, IBX_107_ACheckIsDebugAndSaysWhetherTheMessageWasProcessed) {
    Log log;
    Message message = inbox_message();
    for (const auto& [state, said] :
         {std::pair{State::seen, " processed=no"}, std::pair{State::done, " processed=yes"}}) {
        message.state = state;
        const Line line = log.line(full_event(EventKind::checked, message));
        EXPECT_EQ(line.level, LogLevel::debug);
        EXPECT_THAT(line.text, AllOf(StartsWith("INBOX_CHECK "), HasSubstr(said),
                                     HasSubstr(" source=stripe"), HasSubstr(" message_id=01HX")));
    }
}

TEST(LogObserver, OBX_086_IBX_109_ClaimsAreDebugWithTheirCountEvenWhenEmpty) {
    Log log;
    for (const std::uint64_t count : {0U, 5U}) {
        EXPECT_EQ(log.line({.kind = EventKind::claimed, .store = "main", .count = count}),
                  (Line{LogLevel::debug, "OUTBOX_WORKER_FETCH store=main count=" +
                                             std::to_string(count) + " duration_ms=0.000"}));
    }
    EXPECT_THAT(log.line({.kind = EventKind::claimed, .queue = Queue::inbox, .count = 5}).text,
                AllOf(StartsWith("INBOX_WORKER_FETCH "), HasSubstr(" count=5")));
}

TEST(LogObserver, OBX_087_IBX_110_HandlerCallsAreInfoWithTopicAndMessageId) {
    Log log;
    for (const Message& message : {outbox_message(), inbox_message()}) {
        const Line line = log.line(full_event(EventKind::delivered, message));
        EXPECT_EQ(line.level, LogLevel::info);
        EXPECT_THAT(
            line.text,
            AllOf(HasSubstr("_WORKER_DISPATCH_SUCCESS "), HasSubstr(" topic=order.placed"),
                  HasSubstr(" message_id=01HX"), HasSubstr(" id=" + work_item.to_string())));
    }
}

TEST(LogObserver, OBX_088_IBX_111_HandlerErrorsAreErrorsWithTheMessageId) {
    Log log({.min_level = LogLevel::error});
    for (const Message& message : {outbox_message(), inbox_message()}) {
        for (const EventKind kind : {EventKind::retried, EventKind::dead}) {
            const Line line = log.line(full_event(kind, message));
            EXPECT_EQ(line.level, LogLevel::error);
            EXPECT_THAT(line.text, AllOf(HasSubstr(" message_id=01HX"),
                                         HasSubstr(" id=" + work_item.to_string()),
                                         HasSubstr(" error=\"no route to host\"")));
        }
    }
}

TEST(LogObserver, OBX_089_IBX_112_ReapsAreInfoWithTheirCountAndSilentWhenEmpty) {
    Log log;
    for (const Queue queue : {Queue::outbox, Queue::inbox}) {
        const Line line = log.line({.kind = EventKind::reaped, .queue = queue, .count = 12});
        EXPECT_EQ(line.level, LogLevel::info);
        EXPECT_THAT(line.text, AllOf(HasSubstr("BOX_WORKER_REAP "), HasSubstr(" count=12")));
        log.observe({.kind = EventKind::reaped, .queue = queue, .count = 0});
        log.observe({.kind = EventKind::purged, .queue = queue, .count = 0});
        EXPECT_THAT(log.take(), IsEmpty());
    }
}

TEST(LogObserver, OBX_090_IBX_113_EveryLineNamesItsStore) {
    Log log({.min_level = LogLevel::debug, .summary_every = 1});
    for (const Message& message : {outbox_message(), inbox_message()}) {
        for (const Expectation& expected : expectations()) {
            Event event = full_event(expected.kind, message);
            event.store = "shard-17";
            log.observe(event);
        }
    }
    const std::vector<Line> lines = log.take();
    EXPECT_THAT(lines, SizeIs(2 * (22 + 1) + 1));  // the inbox claims: the store is back
    for (const Line& line : lines) EXPECT_THAT(line.text, HasSubstr(" store=shard-17 "));
}

TEST(LogObserver, NoLineShowsAPayloadAHeaderOrAHash) {
    Log log;
    for (Message message : {outbox_message(), inbox_message()}) {
        message.payload = "s3cret";
        message.headers = {{"s3cret", "s3cret"}};
        message.hash = "s3cret";
        message.last_error = "s3cret";
        for (const Expectation& expected : expectations())
            log.observe(full_event(expected.kind, message));
    }
    const std::vector<Line> lines = log.take();
    EXPECT_THAT(lines, SizeIs(2 * 22 + 1));  // the inbox claims: the store is back
    for (const Line& line : lines) EXPECT_THAT(line.text, Not(HasSubstr("s3cret")));
}

TEST(LogObserver, MinLevelHoldsBackWhatIsBelow) {
    const Message message = outbox_message();
    for (const LogLevel min_level :
         {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
        Log log({.min_level = min_level, .summary_every = 0});
        std::size_t expected_lines = 0;
        for (const Expectation& expected : expectations()) {
            log.observe(full_event(expected.kind, message));
            if (!expected.outbox_line.empty() && expected.level >= min_level) ++expected_lines;
        }
        EXPECT_THAT(log.take(), SizeIs(expected_lines)) << to_string(min_level);
    }
}

TEST(LogObserver, LinesOfEveryMessageCanBeSwitchedOff) {
    Log log({.per_message_info = false});
    const Message message = outbox_message();
    for (const EventKind kind :
         {EventKind::enqueued, EventKind::duplicate, EventKind::started, EventKind::delivered})
        log.observe(full_event(kind, message));
    EXPECT_THAT(log.take(), IsEmpty());
    EXPECT_EQ(log.line(full_event(EventKind::reaped, message)).level, LogLevel::info);
    EXPECT_EQ(log.line(full_event(EventKind::retried, message)).level, LogLevel::error);
}

TEST(LogObserver, O7_ASummaryComesAfterSoManyClaimsOfAStoreAndStartsAnew) {
    Log log({.per_message_info = false, .summary_every = 2});
    const Message message = outbox_message();
    const auto happens = [&](EventKind kind, std::string_view store = "main") {
        Event event = full_event(kind, message);
        event.store = store;
        event.operation = "settle";
        log.observe(event);
    };
    for (const EventKind kind :
         {EventKind::claimed, EventKind::delivered, EventKind::delivered, EventKind::released})
        happens(kind);
    happens(EventKind::claimed, "other");
    EXPECT_THAT(log.take(), IsEmpty());
    for (const EventKind kind :
         {EventKind::retried, EventKind::dead, EventKind::lost, EventKind::store_failed})
        happens(kind);
    log.take();
    happens(EventKind::claimed);
    EXPECT_THAT(log.take(),
                ElementsAre(Line{LogLevel::info,
                                 "OUTBOX_WORKER_SUMMARY store=main cycles=2 claimed=6 delivered=2 "
                                 "retried=1 dead=1 released=1 lost=1 store_failed=1"}));
    happens(EventKind::claimed);
    EXPECT_THAT(log.take(), IsEmpty());
    happens(EventKind::claimed);
    EXPECT_THAT(log.take(),
                ElementsAre(Line{LogLevel::info,
                                 "OUTBOX_WORKER_SUMMARY store=main cycles=2 claimed=6 delivered=0 "
                                 "retried=0 dead=0 released=0 lost=0 store_failed=0"}));
}

TEST(LogObserver, SummariesObeyTheMinimumLevelAndCanBeSwitchedOff) {
    for (const LogOptions& options :
         {LogOptions{.min_level = LogLevel::warning, .summary_every = 1},
          LogOptions{.summary_every = 0}}) {
        Log log(options);
        for (int i = 0; i < 200; ++i) log.observe({.kind = EventKind::claimed, .count = 1});
        EXPECT_THAT(log.take(), IsEmpty());
    }
}

TEST(LogObserver, AnErrorTextNeverBreaksOrDisguisesTheLine) {
    Log log({.outage_every = 0s});
    for (const auto& [error, shown] : {
             std::pair<std::string, std::string>{"plain", "plain"},
             {"", R"("")"},
             {"two words", R"("two words")"},
             {"a=b", R"("a=b")"},
             {R"(say "no" \ never)", R"("say \"no\" \\ never")"},
             {"a\nOUTBOX_WORKER_DEAD b\r\tc", R"("a\nOUTBOX_WORKER_DEAD b\r\tc")"},
             {"\x1b[31mred\x7f", R"("\u001b[31mred\u007f")"},
             {"next\xc2\x85line", R"("next\u0085line")"},
             {"line\xe2\x80\xa8separator", R"("line\u2028separator")"},
             {"\xe2\x80\xaereversed\xe2\x81\xa6", R"("\u202ereversed\u2066")"},
             {std::string("nul\0!", 5), "nul\xef\xbf\xbd!"},
             {"broken\xff", "broken\xef\xbf\xbd"},
             {"Gr\xc3\xbc\xc3\x9f\x65\xe2\x82\xac\xf0\x9f\x93\xae",
              "Gr\xc3\xbc\xc3\x9f\x65\xe2\x82\xac\xf0\x9f\x93\xae"},
         }) {
        EXPECT_EQ(log.line({.kind = EventKind::store_failed, .error = error}).text,
                  R"(OUTBOX_STORE_FAIL store="" operation="" error=)" + shown);
    }
}

TEST(LogObserver, LongErrorsAreCutOnACharacterBoundary) {
    Log log({.max_value_chars = 4, .outage_every = 0s});
    const auto text_of = [&log](std::string_view error) {
        return log.line({.kind = EventKind::store_failed, .error = error}).text;
    };
    EXPECT_THAT(text_of("1234"), testing::EndsWith(" error=1234"));
    EXPECT_THAT(text_of("12345"), testing::EndsWith(" error=1234..."));
    EXPECT_THAT(text_of("123\xc3\xbcxyz"), testing::EndsWith(" error=123\xc3\xbc..."));
    EXPECT_THAT(text_of("1 3\nxyz"), testing::EndsWith(R"( error="1 3\n...")"));
    Log standard;
    EXPECT_LT(standard.line({.kind = EventKind::store_failed, .error = std::string(100'000, 'x')})
                  .text.size(),
              2000u);
}

TEST(LogObserver, EventsWithoutTheirMessageAreStillOneLine) {
    Log log;
    for (const Expectation& expected : expectations()) {
        if (expected.outbox_line.empty()) continue;
        EXPECT_THAT(log.line({.kind = expected.kind, .store = "main", .count = 1}).text,
                    StartsWith(expected.outbox_line.substr(0, expected.outbox_line.find(' '))));
    }
}

TEST(LogObserver, WhatTheWriterThrowsIsSwallowedAndTheSummaryStillTried) {
    std::vector<std::string> tried;
    LogObserver observer({.write =
                              [&tried](LogLevel, std::string_view text) {
                                  tried.emplace_back(text);
                                  throw std::runtime_error("disk full");
                              },
                          .min_level = LogLevel::debug,
                          .summary_every = 1});
    observer.observe({.kind = EventKind::claimed, .count = 1});
    EXPECT_THAT(
        tried, ElementsAre(StartsWith("OUTBOX_WORKER_FETCH"), StartsWith("OUTBOX_WORKER_SUMMARY")));
}

TEST(LogObserver, WithoutAWriterLinesGoToStandardErrorWithTimeAndLevel) {
    for (const LogOptions& options : {LogOptions{}, LogOptions{.write = nullptr}}) {
        testing::internal::CaptureStderr();
        LogObserver observer(options);
        observer.observe({.kind = EventKind::hot_dropped, .store = "main", .count = 2});
        EXPECT_THAT(testing::internal::GetCapturedStderr(),
                    testing::MatchesRegex(
                        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z "
                        "WARNING OUTBOX_HOT_DROP store=main count=2\n"));
    }
}

TEST(LogObserver, ConcurrentEventsAreAllWrittenAndAllInTheSummaries) {
    constexpr std::size_t threads = 8;
    constexpr std::size_t rounds = 500;
    Log log({.min_level = LogLevel::debug, .summary_every = threads * rounds});
    const Message message = outbox_message();
    {
        std::vector<std::jthread> workers;
        for (std::size_t i = 0; i < threads; ++i) {
            workers.emplace_back([&] {
                for (std::size_t round = 0; round < rounds; ++round) {
                    log.observe({.kind = EventKind::released, .store = "a", .message = &message});
                    log.observe({.kind = EventKind::claimed, .store = "a", .count = 2});
                    log.observe({.kind = EventKind::claimed, .store = "b", .count = 1});
                }
            });
        }
    }
    const std::vector<Line> lines = log.take();
    EXPECT_THAT(lines, SizeIs(3 * threads * rounds + 2));
    EXPECT_THAT(lines, testing::Contains(testing::Field(
                           &Line::text, HasSubstr("store=a cycles=4000 claimed=8000 delivered=0 "
                                                  "retried=0 dead=0 released=4000"))));
    EXPECT_THAT(lines, testing::Contains(testing::Field(
                           &Line::text, HasSubstr("store=b cycles=4000 claimed=4000"))));
}

}  // namespace
}  // namespace postroom::log_observer_test
