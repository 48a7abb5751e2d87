#include "postroom/handler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/error.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"
#include "queue/verdict.hpp"

namespace postroom::handler_test {
namespace {

using namespace std::chrono_literals;

struct Paid {
    static constexpr std::string_view topic = "paid";
    int amount = 0;
};
std::string to_payload(const Paid& m) { return std::to_string(m.amount); }
void from_payload(std::string_view s, Paid& m) { m.amount = std::stoi(std::string(s)); }

template <class Thrown>
Verdict verdict_when_throwing(const Thrown& thrown) {
    return verdict_of(std::make_exception_ptr(thrown), 1s);
}

TEST(Verdict, EachExceptionHasItsOutcome) {
    EXPECT_EQ(verdict_when_throwing(std::runtime_error("x")).outcome, Outcome::abandon);
    EXPECT_EQ(verdict_when_throwing(std::runtime_error("x")).delay, std::nullopt);
    EXPECT_EQ(verdict_when_throwing(17).outcome, Outcome::abandon);
    EXPECT_EQ(verdict_when_throwing(RetryAfter(5s, "x")).outcome, Outcome::abandon);
    EXPECT_EQ(verdict_when_throwing(RetryAfter(5s, "x")).delay, Duration(5s));
    EXPECT_EQ(verdict_when_throwing(PermanentFailure("x")).outcome, Outcome::fail);
    EXPECT_EQ(verdict_when_throwing(DestinationDown("x")).outcome, Outcome::release);
    EXPECT_TRUE(verdict_when_throwing(DestinationDown("x")).destination_down);
    EXPECT_FALSE(verdict_when_throwing(std::runtime_error("x")).destination_down);
}

TEST(Verdict, ADatabaseThatIsAwayCostsNoAttempt) {
    EXPECT_EQ(verdict_when_throwing(Error(ErrorKind::unavailable, "x")).outcome, Outcome::release);
    EXPECT_EQ(verdict_when_throwing(Error(ErrorKind::unavailable, "x")).delay, Duration(1s));
    EXPECT_EQ(verdict_when_throwing(Error(ErrorKind::conflict, "x")).outcome, Outcome::release);
    EXPECT_EQ(verdict_when_throwing(Error(ErrorKind::outcome_unknown, "x")).outcome,
              Outcome::release);
    EXPECT_EQ(verdict_when_throwing(Error(ErrorKind::rejected, "x")).outcome, Outcome::abandon);
    EXPECT_EQ(verdict_when_throwing(Error(ErrorKind::misuse, "x")).outcome, Outcome::abandon);
}

TEST(Routes, MatchAggregateTypeAndTopicExactly) {
    Routes routes;
    routes.on("placed", [](const Message&) {});
    routes.on(AggregateType("Order"), "placed", [](const Message&) {});
    Message message;
    message.topic = "placed";
    message.aggregate_type = "__GLOBAL__";
    EXPECT_NE(routes.find(message), nullptr);
    message.aggregate_type = "Order";
    EXPECT_NE(routes.find(message), nullptr);
    message.aggregate_type = "order";
    EXPECT_EQ(routes.find(message), nullptr);
    message.aggregate_type = "Order";
    message.topic = "Placed";
    EXPECT_EQ(routes.find(message), nullptr);
}

TEST(Routes, RefuseASecondHandlerAndEmptyNames) {
    Routes routes;
    routes.on("placed", [](const Message&) {});
    EXPECT_THROW(routes.on("placed", [](const Message&) {}), Error);
    EXPECT_THROW(routes.on("", [](const Message&) {}), std::invalid_argument);
    EXPECT_THROW(routes.on(AggregateType(""), "placed", [](const Message&) {}),
                 std::invalid_argument);
}

template <class Result>
using Returning = Result (*)(const Message&);
template <class Result>
using ReturningWithContext = std::function<Result(const Message&, HandlerContext&)>;
template <class Result>
using ReturningForPaid = Result (*)(const Paid&, const Message&);

TEST(Handlers, ReturnNothingOrAVerdictAndOtherwiseDoNotCompile) {
    static_assert(is_handler_v<Returning<void>> && is_handler_v<Returning<Verdict>>);
    static_assert(is_handler_v<ReturningWithContext<void>>);
    static_assert(is_handler_v<ReturningWithContext<Verdict>>);
    static_assert(!is_handler_v<Returning<bool>> && !is_handler_v<ReturningWithContext<bool>>);
    static_assert(!is_handler_v<Returning<int>> && !is_handler_v<Returning<Outcome>>);
    static_assert(!is_handler_v<Returning<std::future<void>>>);
    static_assert(!is_handler_v<Returning<std::vector<Verdict>>>);
    static_assert(!is_handler_v<Returning<std::optional<Verdict>>>);
    static_assert(!is_handler_v<void (*)()> && !is_handler_v<void (*)(int)>);

    static_assert(is_typed_handler_v<ReturningForPaid<void>, Paid>);
    static_assert(is_typed_handler_v<ReturningForPaid<Verdict>, Paid>);
    static_assert(!is_typed_handler_v<ReturningForPaid<bool>, Paid>);
    static_assert(!is_typed_handler_v<Returning<void>, Paid>);

    static_assert(is_async_handler_v<void (*)(Delivery)>);
    static_assert(!is_async_handler_v<Verdict (*)(Delivery)>);
    static_assert(!is_async_handler_v<std::future<void> (*)(Delivery)>);
}

// The text of what registering an empty handler throws; empty when nothing was thrown.
template <class Register>
std::string refused(const Register& register_it) {
    Routes routes;
    try {
        register_it(routes);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

TEST(Routes, RefuseAnEmptyHandlerAndNameItsTopic) {
    const std::string expected = "handler of topic 't': must not be empty";
    const std::function<void(const Message&)> none;
    void (*const null)(const Message&) = nullptr;
    EXPECT_EQ(refused([&](Routes& r) { r.on("t", none); }), expected);
    EXPECT_EQ(refused([&](Routes& r) { r.on("t", null); }), expected);
    EXPECT_EQ(refused([&](Routes& r) { r.on("t", Handler{}); }), expected);
    EXPECT_EQ(refused([&](Routes& r) { r.in_transaction("t", none); }), expected);
    EXPECT_EQ(refused([&](Routes& r) { r.on_batch("t", 2, {}); }), expected);
    EXPECT_EQ(refused([&](Routes& r) { r.on_async("t", AsyncHandler{}); }), expected);
    EXPECT_EQ(refused([&](Routes& r) { r.on<Paid>(std::function<void(const Paid&)>{}); }),
              "handler of topic 'paid': must not be empty");
    EXPECT_EQ(refused([&](Routes& r) { r.on_matching("t.*", 2, {}); }),
              "handler of topics 't.*': must not be empty");
}

class Process : public testing::Test {
protected:
    Message stored(const WorkItemId& id) { return outbox.get(id).value(); }

    ManualClock clock;
    MemoryStore store{clock};
    Outbox outbox{store};
    Routes routes;
};

TEST_F(Process, FindsNothingInAnEmptyQueue) {
    EXPECT_EQ(process_one(outbox, routes).has_value(), false);
}

TEST_F(Process, AReturningHandlerMakesTheMessageDone) {
    std::vector<int> amounts;
    routes.on<Paid>([&](const Paid& paid) { amounts.push_back(paid.amount); });
    const auto sent = outbox.enqueue(Paid{17});
    const auto processed = process_one(outbox, routes);
    ASSERT_TRUE(processed);
    EXPECT_EQ(processed->settled, Settled::done);
    EXPECT_EQ(processed->message.id, sent.id);
    EXPECT_EQ(amounts, std::vector{17});
    EXPECT_EQ(stored(sent.id).state, State::done);
}

TEST_F(Process, AThrowingHandlerIsTriedAgainAfterTheBackOff) {
    routes.on("t", [](const Message&) { throw std::runtime_error("not now"); });
    const auto sent = outbox.enqueue({.topic = "t", .payload = ""});
    EXPECT_EQ(process_one(outbox, routes)->error, "not now");
    EXPECT_EQ(stored(sent.id).retry_count, 1U);
    EXPECT_EQ(stored(sent.id).last_error, "not now");
    EXPECT_FALSE(process_one(outbox, routes));
    clock.advance(2s);
    EXPECT_TRUE(process_one(outbox, routes));
}

TEST_F(Process, AReturnedVerdictCounts) {
    Verdict verdict = Verdict::retry("not now", 5s);
    routes.on("t", [&](const Message&) { return verdict; });
    const auto sent = outbox.enqueue({.topic = "t", .payload = ""});

    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::ready);
    EXPECT_EQ(stored(sent.id).retry_count, 1U);
    EXPECT_EQ(stored(sent.id).last_error, "not now");
    EXPECT_EQ(stored(sent.id).available_at, clock.now() + 5s);

    clock.advance(5s);
    verdict = Verdict::down("away");
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::ready);
    EXPECT_EQ(stored(sent.id).retry_count, 1U);

    clock.advance(1s);
    verdict = Verdict::fail("never");
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::dead);
    EXPECT_EQ(stored(sent.id).last_error, "never");

    verdict = Verdict::done();
    const std::array dead{sent.id};
    outbox.redrive(dead);
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::done);
}

TEST_F(Process, ADelayOutsideTheLimitsIsBroughtWithinThem) {
    Verdict verdict{.outcome = Outcome::release, .delay = -5s};
    routes.on("t", [&](const Message&) { return verdict; });
    const auto sent = outbox.enqueue({.topic = "t", .payload = ""});
    process_one(outbox, routes);
    EXPECT_EQ(stored(sent.id).available_at, clock.now());
    verdict.delay = store.limits().delay_max + 1s;
    process_one(outbox, routes);
    EXPECT_EQ(stored(sent.id).available_at, clock.now() + store.limits().delay_max);
}

TEST_F(Process, AVerdictThatATypedHandlerReturnsCounts) {
    routes.on<Paid>([](const Paid& paid, const Message&, HandlerContext&) {
        return paid.amount == 0 ? Verdict::fail("nothing was paid") : Verdict::done();
    });
    const auto nothing = outbox.enqueue(Paid{0});
    const auto something = outbox.enqueue(Paid{1});
    while (process_one(outbox, routes)) {
    }
    EXPECT_EQ(stored(nothing.id).state, State::dead);
    EXPECT_EQ(stored(something.id).state, State::done);
}

TEST_F(Process, WhatATransactionalHandlerWroteIsUndoneByItsVerdict) {
    routes.in_transaction("t", [&](const Message&, HandlerContext& context) {
        outbox.enqueue(context.transaction(), {.topic = "effect", .payload = ""});
        return Verdict::retry("not now");
    });
    const auto sent = outbox.enqueue({.topic = "t", .payload = ""});
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::ready);
    EXPECT_EQ(stored(sent.id).retry_count, 1U);
    EXPECT_TRUE(store.enqueued("effect").empty());
}

TEST_F(Process, AnyDelayThatAHandlerAsksForIsTaken) {
    Duration wanted{};
    routes.on("t", [&](const Message&) { throw RetryAfter(wanted, "later"); });
    const auto sent = outbox.enqueue({.topic = "t", .payload = ""});
    for (const Duration delay : {Duration(0), Duration(-5s), Duration::max()}) {
        wanted = delay;
        clock.advance(1s);
        ASSERT_EQ(process_one(outbox, routes)->settled, Settled::ready);
    }
    EXPECT_EQ(stored(sent.id).retry_count, 3U);
    EXPECT_EQ(stored(sent.id).available_at, clock.now() + store.limits().delay_max);
}

TEST_F(Process, AnUnreadablePayloadIsDeadWithTheReason) {
    routes.on<Paid>([](const Paid&, const Message&) { FAIL(); });
    const auto sent = outbox.enqueue({.topic = "paid", .payload = "many"});
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::dead);
    EXPECT_EQ(stored(sent.id).last_error.find("payload cannot be read"), 0U);
}

TEST_F(Process, AMessageWithoutHandlerIsRetriedOrDeadByPolicy) {
    std::vector<std::string> unroutable;
    const ProcessOptions dead{
        .unroutable = Unroutable::dead,
        .on_unroutable = [&](const Message& m) { unroutable.push_back(m.topic); }};
    const auto first = outbox.enqueue({.topic = "unknown", .payload = ""});
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::ready);
    EXPECT_EQ(stored(first.id).last_error, "no handler for topic 'unknown'");
    clock.advance(2s);
    EXPECT_EQ(process_one(outbox, routes, dead)->settled, Settled::dead);
    const auto typed = outbox.enqueue(
        {.topic = "unknown", .payload = "", .aggregate_type = AggregateType("cart")});
    process_one(outbox, routes);
    EXPECT_EQ(stored(typed.id).last_error,
              "no handler for topic 'unknown' of aggregate type 'cart'");
    EXPECT_EQ(unroutable, std::vector<std::string>{"unknown"});
}

TEST_F(Process, ADestinationThatIsDownCostsNoAttempt) {
    routes.on("t", [](const Message&) { throw DestinationDown("broker away"); });
    const auto sent = outbox.enqueue({.topic = "t", .payload = ""});
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::ready);
    EXPECT_EQ(stored(sent.id).retry_count, 0U);
    EXPECT_FALSE(process_one(outbox, routes));
    clock.advance(1s);
    EXPECT_TRUE(process_one(outbox, routes));
}

TEST_F(Process, OnlyATransactionalHandlerHasATransaction) {
    routes.on("t", [](const Message&, HandlerContext& context) { context.transaction(); });
    outbox.enqueue({.topic = "t", .payload = ""});
    EXPECT_NE(process_one(outbox, routes)->error.find("in_transaction"), std::string::npos);
}

TEST_F(Process, WhatATransactionalHandlerWritesStandsOnlyWhenItReturns) {
    bool fail = true;
    routes.in_transaction("t", [&](const Message&, HandlerContext& context) {
        outbox.enqueue(context.transaction(), {.topic = "effect", .payload = ""});
        if (fail) throw std::runtime_error("half way");
    });
    outbox.enqueue({.topic = "t", .payload = ""});
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::ready);
    EXPECT_EQ(store.enqueued("effect").size(), 0U);
    fail = false;
    clock.advance(2s);
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::done);
    EXPECT_EQ(store.enqueued("effect").size(), 1U);
}

TEST_F(Process, ATypedHandlerMayRunInTheTransaction) {
    routes.in_transaction<Paid>([&](const Paid& paid, const Message&, HandlerContext& context) {
        outbox.enqueue(context.transaction(),
                       {.topic = "effect", .payload = std::to_string(paid.amount)});
    });
    outbox.enqueue(Paid{5});
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::done);
    ASSERT_EQ(store.enqueued("effect").size(), 1U);
    EXPECT_EQ(store.enqueued("effect").front().payload, "5");
}

TEST_F(Process, ATransactionalHandlerThatLostItsLeaseHasNoEffect) {
    routes.in_transaction("t", [&](const Message&, HandlerContext& context) {
        outbox.enqueue(context.transaction(), {.topic = "effect", .payload = ""});
        clock.advance(10min);
        outbox.reap_expired();
    });
    outbox.enqueue({.topic = "t", .payload = ""});
    EXPECT_EQ(process_one(outbox, routes)->settled, Settled::lost);
    EXPECT_EQ(store.enqueued("effect").size(), 0U);
}

}  // namespace
}  // namespace postroom::handler_test
