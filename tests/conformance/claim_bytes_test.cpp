// A claim is bounded by bytes as well as by number, whoever wrote the messages, and one that cannot
// be read takes none of the others with it.
#include <atomic>

#include "base/mutex.hpp"
#include "conformance/law.hpp"
#include "postroom/dispatcher.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::size_t> sizes_of(const std::vector<Message>& messages) {
    std::vector<std::size_t> sizes;
    for (const Message& message : messages) sizes.push_back(message.payload.size());
    return sizes;
}

TEST_P(ClaimBytesLaw, WhatGoesBeyondIsLeftForTheNextClaim) {
    for (int i = 0; i < 5; ++i) put({.payload = std::string(1000, 'x')});
    const ClaimRequest request{.owner = me, .lease = long_lease, .batch = 100, .bytes = 2500};
    std::size_t total = 0;
    for (const std::size_t expected : {2U, 2U, 1U, 0U}) {
        const std::vector<Message> claimed = store().claim(queue(), request);
        EXPECT_THAT(claimed, SizeIs(expected));
        for (const Message& message : claimed) {
            EXPECT_EQ(message.lost_count, 0U);
            EXPECT_EQ(message.retry_count, 0U);
        }
        total += work().ack(claimed).size();
    }
    EXPECT_EQ(total, 5U);
}

TEST_P(ClaimBytesLaw, HeadersCount) {
    for (int i = 0; i < 3; ++i) put({.headers = {{"h", std::string(1000, 'x')}}});
    EXPECT_THAT(store().claim(queue(), {.owner = me, .lease = long_lease, .bytes = 2500}),
                SizeIs(2));
}

TEST_P(ClaimBytesLaw, AMessageLargerThanAClaimGoesAlone) {
    for (int i = 0; i < 3; ++i) put({.payload = std::string(1000, 'x')});
    const ClaimRequest request{.owner = me, .lease = long_lease, .bytes = 10};
    for (int i = 0; i < 3; ++i) EXPECT_THAT(store().claim(queue(), request), SizeIs(1));
    EXPECT_THAT(store().claim(queue(), request), IsEmpty());
}

TEST_P(ClaimBytesLaw, MessagesThatWaitCountToo) {
    for (int i = 0; i < 4; ++i) put({.payload = std::string(1000, 'x')});
    work().release(claim());
    put({.payload = std::string(1000, 'x')});
    const ClaimRequest request{.owner = me, .lease = long_lease, .bytes = 3000};
    EXPECT_THAT(store().claim(queue(), request), SizeIs(3));
    EXPECT_THAT(store().claim(queue(), request), SizeIs(2));
}

TEST_P(ClaimBytesLaw, OrderOfAKeyIsKept) {
    for (const char* const letter : {"a", "b", "c"})
        put({.payload = std::string(100, *letter), .ordering_key = "k"});
    std::string order;
    for (int i = 0; i < 3; ++i) {
        const std::vector<Message> claimed =
            store().claim(queue(), {.owner = me, .lease = long_lease, .bytes = 10});
        ASSERT_THAT(claimed, SizeIs(1));
        order += claimed.front().payload.front();
        work().ack(claimed);
    }
    EXPECT_EQ(order, "abc");
}

// Of a worker that was told of smaller limits than the writers were.
OpenOptions with_small_limits() {
    OpenOptions options;
    options.limits.max_payload_bytes = 100;
    options.limits.headers_bytes = 10;
    return options;
}

TEST_P(SqlSurfaceLaw, S001_16_2_AMessageTooLargeToReadEndsDeadAndTakesNothingWithIt) {
    put({.payload = std::string(10, 'a')});
    const WorkItemId large = put({.payload = std::string(50'000, 'x')});
    put({.payload = std::string(20, 'b')});
    const std::unique_ptr<Store> small = sql_sandbox().reopen_with(with_small_limits());
    const Outbox worker(*small, {.queue = {.claim_bytes = 1000}});
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 3; ++i)
        for (const std::size_t size : sizes_of(worker.claim_due(10))) sizes.push_back(size);
    EXPECT_THAT(sizes, ElementsAre(10, 20));
    const Message dead = get(large);
    EXPECT_EQ(dead.state, State::dead);
    EXPECT_EQ(dead.dead_reason, DeadReason::unreadable);
    EXPECT_THAT(dead.last_error, HasSubstr("50000 bytes, at most 1000 allowed"));
    EXPECT_EQ(dead.lost_count, 0U);
}

// Keeps the reasons of the messages that died.
class Deaths final : public Observer {
public:
    void observe(const Event& event) noexcept override {
        if (event.kind != EventKind::dead) return;
        const base::MutexLock lock(mutex_);
        reasons_.push_back(std::string(event.error));
    }
    std::vector<std::string> reasons() const {
        const base::MutexLock lock(mutex_);
        return reasons_;
    }

private:
    mutable base::Mutex mutex_;
    std::vector<std::string> reasons_ POSTROOM_GUARDED_BY(mutex_);
};

TEST_P(SqlSurfaceLaw, S001_16_2_ADispatcherReportsWhatItCannotReadAndDeliversTheRest) {
    put_many(3);
    const WorkItemId large = put({.payload = std::string(50'000, 'x')});
    put_many(3);
    const std::unique_ptr<Store> small = sql_sandbox().reopen_with(with_small_limits());
    Deaths deaths;
    std::atomic<int> delivered{0};
    Dispatcher dispatcher(*small, {.claim_bytes = 1000, .observer = &deaths});
    dispatcher.on("order.placed", [&](const Message&) { ++delivered; });
    dispatcher.start();
    EXPECT_TRUE(wait_until([&] { return delivered == 6 && deaths.reasons().size() == 1; }, 60s));
    dispatcher.close();
    EXPECT_THAT(deaths.reasons(), ElementsAre(HasSubstr("50000 bytes, at most 1000 allowed")));
    EXPECT_EQ(get(large).dead_reason, DeadReason::unreadable);
}

// Headers that are no JSON object, or one that is deeper than any header: whichever of them the
// table takes.
TEST_P(SqlSurfaceLaw, S001_16_2_HeadersThatCannotBeReadAreRefusedOrDead) {
    put({.payload = "a"});
    std::size_t taken = 0;
    const std::string deep = "{\"h\": " + std::string(90, '[') + std::string(90, ']') + "}";
    for (const std::string& headers : {std::string("[1"), std::string("[1]"), deep}) {
        try {
            sql("INSERT INTO " + table("outbox_live") + " (topic, payload, headers) VALUES ('t', " +
                payload("poison") + ", '" + headers + "')");
            ++taken;
        } catch (const std::exception& error) {
            EXPECT_THAT(error.what(), testing::AnyOf(HasSubstr("headers"), HasSubstr("json")));
        }
    }
    put({.payload = "b"});
    Deaths deaths;
    const Outbox worker(store(), {.queue = {.observer = &deaths}});
    std::vector<std::string> payloads;
    for (const Message& message : worker.claim_due(10)) payloads.push_back(message.payload);
    EXPECT_THAT(payloads, ElementsAre("a", "b"));
    const std::vector<Message> dead = store().find(Queue::outbox, {.state = State::dead});
    EXPECT_THAT(dead, SizeIs(taken));
    for (const Message& message : dead) {
        EXPECT_EQ(message.dead_reason, DeadReason::unreadable);
        EXPECT_EQ(message.last_error, "headers: not a JSON object, or nested too deeply");
        EXPECT_EQ(message.payload, "poison");
    }
    EXPECT_THAT(deaths.reasons(),
                testing::AllOf(SizeIs(taken), testing::Each(HasSubstr("not a JSON object"))));
}

}  // namespace
}  // namespace postroom::test
