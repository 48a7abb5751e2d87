// What the admin server is made of, each by itself and without any network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <latch>

#include "admin/dead_letters.hpp"
#include "admin/http/connections.hpp"
#include "admin/http/live_events.hpp"
#include "admin/http/operations.hpp"
#include "admin/http/parameter_reader.hpp"
#include "conformance/forwarding_store.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::admin_parts_test {
namespace {

using namespace std::chrono_literals;
using admin::Connections;
using admin::LiveEvents;
using admin::Operation;
using admin::Operations;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds patience{60};

TEST(LiveEvents, KeepsNoMoreBytesThanItMay) {
    LiveEvents events;
    const std::string large(LiveEvents::kept_bytes_max / 4, 'x');
    for (int i = 0; i < 20; ++i) events.publish("overview", fmt::format("{}{}", i, large));
    EXPECT_LE(events.after(17).text.size(), LiveEvents::kept_bytes_max);
    EXPECT_THAT(events.after(17).text, HasSubstr("data: 19x"));
    EXPECT_THAT(events.after(10).text, Not(HasSubstr("data: 1"))) << "the older ones are gone";
}

TEST(LiveEvents, KeepsTheLastHoweverLargeItIs) {
    LiveEvents events;
    events.publish("a", "small");
    events.publish("b", std::string(2 * LiveEvents::kept_bytes_max, 'x'));
    EXPECT_THAT(events.after(1).text, HasSubstr("event: b\n"));
}

TEST(LiveEvents, AReaderThatHasFallenBehindIsToldToBeginAnew) {
    LiveEvents events;
    for (std::size_t i = 0; i < LiveEvents::kept_max + 2; ++i) events.publish("a", "1");
    const LiveEvents::Batch batch = events.after(1);
    EXPECT_THAT(batch.text, HasSubstr("event: reset\n"));
    EXPECT_THAT(batch.text, Not(HasSubstr("event: a\n")));
    EXPECT_THAT(events.after(2).text, Not(HasSubstr("event: reset\n")));
    EXPECT_EQ(batch.position, LiveEvents::kept_max + 2);
}

TEST(Operations, OneThatRunsForLongDoesNotKeepAllThatBeganAfterIt) {
    std::latch end(1);
    Operations operations(2, [](const Operation&) {});
    const auto begun = operations.start({}, [&](const auto&, const std::stop_token&) {
        end.wait();
        return admin::BulkResult{};
    });
    ASSERT_TRUE(begun);
    for (std::size_t i = 0; i < Operations::kept_max + 20; ++i) {
        const auto next = operations.start(
            {}, [](const auto&, const std::stop_token&) { return admin::BulkResult{}; });
        ASSERT_TRUE(next);
        ASSERT_TRUE(wait_until(
            [&] { return operations.find(next->id)->status == Operation::Status::finished; },
            patience));
    }
    EXPECT_LE(operations.list().size(), Operations::kept_max);
    EXPECT_TRUE(operations.find(begun->id)) << "what runs is kept";
    end.count_down();
}

TEST(Operations, WhateverIsThrownEndsTheOperationOnly) {
    Operations operations(1, [](const Operation&) { throw std::runtime_error("nobody listens"); });
    const auto begun = operations.start(
        {}, [](const auto&, const std::stop_token&) -> admin::BulkResult { throw 1; });
    ASSERT_TRUE(begun);
    EXPECT_TRUE(wait_until(
        [&] { return operations.find(begun->id)->status == Operation::Status::failed; }, patience));
}

TEST(Connections, TheOneThatHasWaitedForLongestMakesRoom) {
    Connections all;
    std::string closed;
    Connections::Place a(all, [&] { closed += 'a'; });
    Connections::Place b(all, [&] { closed += 'b'; });
    b.start_waiting();
    a.start_waiting();
    EXPECT_EQ(all.count(), 2U);
    EXPECT_TRUE(all.evict_one());
    EXPECT_EQ(closed, "b");
    EXPECT_EQ(all.count(), 1U);
    a.stop_waiting();
    EXPECT_FALSE(all.evict_one()) << "a busy one is left alone";
}

TEST(Connections, AllAreClosedInTheEnd) {
    Connections all;
    int closed = 0;
    Connections::Place busy(all, [&] { ++closed; });
    Connections::Place idle(all, [&] { ++closed; });
    idle.start_waiting();
    all.close_all();
    EXPECT_EQ(closed, 2);
}

// Its last answer may have been written just before: it would wait for the next request.
TEST(Connections, NoneIsEvictedTwice) {
    Connections all;
    {
        int closed = 0;
        Connections::Place place(all, [&] { ++closed; });
        place.start_waiting();
        EXPECT_TRUE(all.evict_one());
        place.start_waiting();
        EXPECT_TRUE(place.evicted());
        EXPECT_FALSE(all.evict_one());
        EXPECT_EQ(closed, 1);
        EXPECT_EQ(all.count(), 0U);
    }
    EXPECT_EQ(all.count(), 0U);
}

TEST(BodyParameters, NullIsNoText) {
    const auto refusal = [](const std::string& body) -> std::string {
        try {
            admin::body_parameters(body);
            return "";
        } catch (const admin::Problem& problem) {
            return problem.response().body;
        }
    };
    EXPECT_THAT(refusal(R"({"topic": null})"), HasSubstr("'topic' is null"));
    EXPECT_EQ(refusal(R"({"topic": "null"})"), "");
}

// A store with more rows than anybody wants to read, that counts how often it is asked and asks
// for a stop the first time.
class EndlessStore final : public ForwardingStore {
public:
    EndlessStore(Store& inner, std::stop_source& stop) : ForwardingStore(inner), stop_(stop) {}
    std::vector<Message> find(Queue, const Query& query) override {
        ++asked;
        stop_.request_stop();
        std::vector<Message> out(query.limit);
        for (Message& message : out) message.id = WorkItemId(--seq_, 1);
        return out;
    }
    int asked = 0;

private:
    std::stop_source& stop_;
    std::uint64_t seq_ = 1'000'000'000;
};

TEST(DeadLetters, AreReadUntilAStop) {
    MemoryStore memory;
    std::stop_source stop;
    EndlessStore store(memory, stop);
    const admin::DeadLetters letters =
        admin::dead_letters(store, Queue::outbox, 1'000'000, stop.get_token());
    EXPECT_FALSE(letters.complete);
    EXPECT_EQ(store.asked, 1);
}

TEST(Bulk, CountingByContentEndsWithAStop) {
    MemoryStore memory;
    std::stop_source stop;
    EndlessStore store(memory, stop);
    EXPECT_THROW(admin::count_matching(store, Queue::outbox, admin::Change::redrive, {},
                                       "0123456789abcdef", stop.get_token()),
                 Error);
    EXPECT_EQ(store.asked, 1);
}

}  // namespace
}  // namespace postroom::test::admin_parts_test
