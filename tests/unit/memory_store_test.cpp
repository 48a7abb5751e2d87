// The outbox side of the reference store: what a claim takes, how a message is settled, what a
// transaction shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "postroom/error.hpp"
#include "postroom/testing.hpp"
#include "queue/hot_path.hpp"

namespace postroom::memory_store_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class MemoryStoreTest : public testing::Test {
protected:
    // The payload doubles as message id.
    static NewMessage message(const std::string& payload) {
        return {.topic = "t", .payload = payload, .message_id = MessageId{payload}};
    }

    EnqueueResult put(const NewMessage& message, TxContext* tx = nullptr,
                      const BornLease* born = nullptr) {
        return store.enqueue(tx, std::span{&message, 1}, born).at(0);
    }

    void put_all(const std::vector<std::string>& payloads) {
        for (const std::string& payload : payloads) put(message(payload));
    }

    std::vector<Message> claim(std::uint32_t batch = 50) {
        return store.claim(Queue::outbox, {.owner = owner, .lease = 30s, .batch = batch});
    }

    Message claim_one() {
        const auto claimed = claim(1);
        EXPECT_EQ(claimed.size(), 1u);
        return claimed.at(0);
    }

    Settled settle(const Message& message, Outcome outcome, Settlement rest = {},
                   TxContext* tx = nullptr) {
        rest.lease = message.lease.value();
        rest.outcome = outcome;
        return store.settle(tx, Queue::outbox, std::span{&rest, 1}).at(0);
    }

    Message only() {
        const auto found = store.enqueued("t");
        EXPECT_EQ(found.size(), 1u);
        return found.at(0);
    }

    static std::vector<std::string> payloads(const std::vector<Message>& messages) {
        std::vector<std::string> payloads;
        for (const Message& message : messages) payloads.push_back(message.payload);
        return payloads;
    }

    static ErrorKind kind_of(const std::function<void()>& call) {
        try {
            call();
        } catch (const Error& error) {
            return error.kind();
        }
        ADD_FAILURE() << "no Error was thrown";
        return ErrorKind::unavailable;
    }

    const OwnerToken owner = OwnerToken::generate();
    ManualClock clock;
    MemoryStore store{clock, {.statement_timeout = 50ms}, 1};
};

TEST_F(MemoryStoreTest, ClaimsFreshMessagesInOrderOfSeq) {
    put_all({"a", "b", "c"});
    EXPECT_THAT(payloads(claim(2)), ElementsAre("a", "b"));
    EXPECT_THAT(payloads(claim(2)), ElementsAre("c"));
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_F(MemoryStoreTest, AClaimedMessageCarriesItsLease) {
    put(message("a"));
    const Message claimed = claim_one();
    EXPECT_EQ(claimed.state, State::in_progress);
    ASSERT_TRUE(claimed.lease);
    EXPECT_EQ(claimed.lease->id, claimed.id);
    EXPECT_EQ(claimed.lease->owner, owner);
    EXPECT_EQ(claimed.lease->locked_until, clock.now() + 30s);
}

TEST_F(MemoryStoreTest, AnAckedMessageBecomesHistory) {
    put(message("a"));
    EXPECT_EQ(settle(claim_one(), Outcome::ack), Settled::done);
    const Message done = only();
    EXPECT_EQ(done.state, State::done);
    EXPECT_EQ(done.processed_at, clock.now());
    EXPECT_EQ(done.processed_by, owner.to_string());
    EXPECT_EQ(done.idempotency_key, "a");
    EXPECT_FALSE(done.lease);
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_F(MemoryStoreTest, WithoutRetentionAnAckedMessageIsGone) {
    MemoryStore forgetful(clock, {.keep_history = false});
    const NewMessage one = message("a");
    forgetful.enqueue(nullptr, std::span{&one, 1});
    const auto claimed = forgetful.claim(Queue::outbox, {.owner = owner});
    const Settlement ack{.lease = claimed.at(0).lease.value()};
    EXPECT_THAT(forgetful.settle(nullptr, Queue::outbox, std::span{&ack, 1}),
                ElementsAre(Settled::done));
    EXPECT_THAT(forgetful.enqueued("t"), IsEmpty());
}

TEST_F(MemoryStoreTest, AnAbandonedMessageComesBackAfterItsDelay) {
    put(message("a"));
    EXPECT_EQ(settle(claim_one(), Outcome::abandon, {.error = "boom", .delay = 5s}),
              Settled::ready);
    EXPECT_THAT(claim(), IsEmpty());
    clock.advance(5s);
    const Message again = claim_one();
    EXPECT_EQ(again.retry_count, 1u);
    EXPECT_EQ(again.lease->retry_count, 1u);
    EXPECT_EQ(again.last_error, "boom");
    EXPECT_EQ(again.lost_count, 0u);
}

TEST_F(MemoryStoreTest, TheLastAllowedAttemptKills) {
    put(message("a"));
    EXPECT_EQ(settle(claim_one(), Outcome::abandon, {.max_attempts = 2}), Settled::ready);
    EXPECT_EQ(settle(claim_one(), Outcome::abandon, {.error = "x", .max_attempts = 2}),
              Settled::dead);
    EXPECT_EQ(only().state, State::dead);
    EXPECT_EQ(only().dead_reason, DeadReason::max_attempts);
    EXPECT_EQ(only().last_error, "x");
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_F(MemoryStoreTest, TheMessagesOwnLimitGoesBeforeThePolicys) {
    NewMessage once = message("a");
    once.max_attempts = 1;
    put(once);
    EXPECT_EQ(settle(claim_one(), Outcome::abandon, {.max_attempts = 10}), Settled::dead);
}

TEST_F(MemoryStoreTest, AReleaseCostsNoAttempt) {
    put(message("a"));
    EXPECT_EQ(settle(claim_one(), Outcome::release, {.max_attempts = 1}), Settled::ready);
    EXPECT_EQ(claim_one().retry_count, 0u);
}

TEST_F(MemoryStoreTest, AFailedMessageIsDeadUntilItIsRedriven) {
    put(message("a"));
    const Message claimed = claim_one();
    EXPECT_EQ(settle(claimed, Outcome::fail, {.error = "no", .reason = DeadReason::expired}),
              Settled::dead);
    EXPECT_EQ(only().dead_reason, DeadReason::expired);
    const std::vector<WorkItemId> ids{claimed.id, {claimed.id.seq(), claimed.id.nonce() + 1}};
    EXPECT_EQ(store.redrive(Queue::outbox, ids), 1u);
    EXPECT_EQ(store.redrive(Queue::outbox, ids), 0u);
    const Message again = claim_one();
    EXPECT_EQ(again.retry_count, 0u);
    EXPECT_EQ(again.last_error, "");
    EXPECT_EQ(again.dead_reason, DeadReason::none);
}

TEST_F(MemoryStoreTest, ErrorTextsAreCutToTheLimitAndRepaired) {
    put(message("a"));
    settle(claim_one(), Outcome::fail, {.error = "\xff" + std::string(5000, 'x')});
    EXPECT_EQ(only().last_error, "\xef\xbf\xbd" + std::string(3999, 'x'));
}

TEST_F(MemoryStoreTest, ALostLeaseIsTakenOverAndItsHolderCanNoLongerSettle) {
    put(message("a"));
    const Message first = claim_one();
    clock.advance(30s);
    EXPECT_EQ(only().state, State::ready);
    const Message second = claim_one();
    EXPECT_EQ(second.lost_count, 1u);
    EXPECT_EQ(settle(first, Outcome::ack), Settled::lost);
    EXPECT_EQ(settle(second, Outcome::ack), Settled::done);
    EXPECT_EQ(settle(second, Outcome::ack), Settled::lost);
}

TEST_F(MemoryStoreTest, AnExpiredLeaseThatNobodyTookMayStillSettleOrExtend) {
    put_all({"a", "b"});
    const auto claimed = claim();
    clock.advance(1h);
    const std::vector<Lease> leases{*claimed.at(1).lease};
    EXPECT_EQ(store.extend(Queue::outbox, leases, 10s), std::vector<bool>{true});
    EXPECT_EQ(settle(claimed.at(0), Outcome::ack), Settled::done);
    EXPECT_THAT(claim(), IsEmpty());
    clock.advance(10s);
    EXPECT_EQ(store.reap(Queue::outbox, 10), 1u);
    EXPECT_EQ(store.extend(Queue::outbox, leases, 10s), std::vector<bool>{false});
}

TEST_F(MemoryStoreTest, ReapTakesNoMoreThanItsLimit) {
    put_all({"a", "b", "c"});
    claim();
    clock.advance(30s - 1us);
    EXPECT_EQ(store.reap(Queue::outbox, 10), 0u);
    clock.advance(1us);
    EXPECT_EQ(store.reap(Queue::outbox, 2), 2u);
    EXPECT_EQ(store.reap(Queue::outbox, 2), 1u);
    EXPECT_EQ(store.reap(Queue::outbox, 2), 0u);
}

TEST_F(MemoryStoreTest, ABornLeaseKeepsClaimsAwayUntilItRunsOut) {
    const BornLease born{.owner = owner, .lease_id = LeaseId{77}, .lease = 10s};
    const WorkItemId id = put(message("a"), nullptr, &born).id;
    EXPECT_EQ(only().state, State::in_progress);
    EXPECT_THAT(claim(), IsEmpty());
    clock.advance(10s);
    EXPECT_EQ(claim_one().lost_count, 1u);
    const Settlement late{.lease = {.id = id, .lease_id = born.lease_id, .owner = owner}};
    EXPECT_THAT(store.settle(nullptr, Queue::outbox, std::span{&late, 1}),
                ElementsAre(Settled::lost));
}

TEST_F(MemoryStoreTest, ABornMessageIsSettledByItsBirthLease) {
    const BornLease born{.owner = owner, .lease_id = LeaseId{77}, .lease = 10s};
    const WorkItemId id = put(message("a"), nullptr, &born).id;
    clock.advance(1h);
    const Settlement ack{.lease = {.id = id, .lease_id = born.lease_id, .owner = owner}};
    EXPECT_THAT(store.settle(nullptr, Queue::outbox, std::span{&ack, 1}),
                ElementsAre(Settled::done));
}

TEST_F(MemoryStoreTest, ADueTimeInTheFutureDefers) {
    NewMessage later = message("later");
    later.due_time = clock.now() + 1min;
    put(later);
    NewMessage past = message("past");
    past.due_time = clock.now() - 1min;
    put(past);
    EXPECT_THAT(payloads(claim()), ElementsAre("past"));
    clock.advance(1min - 1us);
    EXPECT_THAT(payloads(claim()), ElementsAre("past"));  // taken over
    clock.advance(1us);
    EXPECT_THAT(payloads(claim()), ElementsAre("later"));
}

TEST_F(MemoryStoreTest, UrgentGoesFirstAndLowGoesLastExceptOnEveryFourthClaim) {
    const auto prioritized = [&](const std::string& payload, std::int32_t priority) {
        NewMessage one = message(payload);
        one.priority = priority;
        put(one);
    };
    prioritized("low", -1);
    clock.advance(1s);
    put_all({"n1", "n2"});
    for (int i = 1; i <= 4; ++i) prioritized("u" + std::to_string(i), i);
    EXPECT_EQ(claim_one().payload, "u4");
    EXPECT_EQ(claim_one().payload, "u3");
    EXPECT_EQ(claim_one().payload, "u2");
    EXPECT_EQ(claim_one().payload, "n1");  // by age
    EXPECT_THAT(payloads(claim()), ElementsAre("u1", "n2", "low"));
}

TEST_F(MemoryStoreTest, ByAgeALowMessageHasItsTurn) {
    NewMessage low = message("low");
    low.priority = -1;
    put(low);
    for (int i = 0; i < 20; ++i) put(message("n" + std::to_string(i)));
    std::vector<std::string> taken;
    for (int i = 0; i < 8; ++i) taken.push_back(claim_one().payload);
    EXPECT_EQ(taken.back(), "low");
}

TEST_F(MemoryStoreTest, FreshAndDueShareABatch) {
    put_all({"d1", "d2", "d3", "d4"});
    for (const Message& one : claim()) settle(one, Outcome::release);
    put_all({"f1", "f2", "f3", "f4"});
    EXPECT_THAT(payloads(claim(4)), UnorderedElementsAre("d1", "d2", "f1", "f2"));
    EXPECT_THAT(payloads(claim(3)), testing::Contains("d3"));
    EXPECT_EQ(claim(10).size(), 1u);
}

TEST_F(MemoryStoreTest, ABatchOfOneStarvesNeitherFreshNorDue) {
    put_all({"d1", "d2"});
    for (const Message& one : claim()) settle(one, Outcome::release);
    put_all({"f1", "f2"});
    std::vector<std::string> kinds;
    for (int i = 0; i < 2; ++i) kinds.push_back(claim_one().payload.substr(0, 1));
    EXPECT_THAT(kinds, UnorderedElementsAre("d", "f"));
}

TEST_F(MemoryStoreTest, AnIdempotencyKeyKeepsASecondMessageOutEvenAfterDelivery) {
    NewMessage first = message("a");
    first.idempotency_key = "k";
    const EnqueueResult stored = put(first);
    EXPECT_FALSE(stored.already_existed);
    settle(claim_one(), Outcome::ack);

    NewMessage second = message("b");
    second.idempotency_key = "k";
    const EnqueueResult again = put(second);
    EXPECT_TRUE(again.already_existed);
    EXPECT_EQ(again.id, stored.id);
    EXPECT_EQ(again.message_id, stored.message_id);

    second.tenant_id = "other";
    EXPECT_FALSE(put(second).already_existed);
}

TEST_F(MemoryStoreTest, PurgeRemovesHistoryByAgeAndKeysByTheirWindow) {
    NewMessage keyed = message("a");
    keyed.idempotency_key = "k";
    put(keyed);
    put(message("b"));
    for (const Message& one : claim()) settle(one, Outcome::ack);
    clock.advance(24h);
    EXPECT_EQ(store.purge(Queue::outbox, {.older_than = 25h}).purged, 0u);
    const PurgeResult first = store.purge(Queue::outbox, {.older_than = 24h, .batch = 1});
    EXPECT_EQ(first.purged, 1u);
    EXPECT_TRUE(first.more);
    const PurgeResult second = store.purge(Queue::outbox, {.older_than = 24h, .batch = 5});
    EXPECT_EQ(second.purged, 1u);
    EXPECT_FALSE(second.more);
    EXPECT_TRUE(put(keyed).already_existed);
    clock.advance(6 * 24h);
    EXPECT_EQ(store.purge(Queue::outbox, {.older_than = 24h}).purged, 1u);
    EXPECT_FALSE(put(keyed).already_existed);
}

TEST_F(MemoryStoreTest, CountsTellWhereTheMessagesAre) {
    put_all({"a", "b", "c", "d"});
    clock.advance(1s);
    put(message("e"));
    const auto claimed = claim(4);
    settle(claimed.at(0), Outcome::ack);
    settle(claimed.at(1), Outcome::fail);
    settle(claimed.at(2), Outcome::abandon, {.delay = 1h});
    const Counts counts = store.counts(Queue::outbox);
    EXPECT_EQ(counts.ready, 2u);
    EXPECT_EQ(counts.retrying, 1u);
    EXPECT_EQ(counts.in_progress, 1u);
    EXPECT_EQ(counts.dead, 1u);
    EXPECT_EQ(counts.oldest, clock.now() - 1s);
}

TEST_F(MemoryStoreTest, FindRestrictsByEveryMemberAndPages) {
    put_all({"a", "b", "c"});
    const Message a = claim_one();
    const auto found = [&](const Query& query) {
        return payloads(store.find(Queue::outbox, query));
    };
    const auto with = [](auto member, auto value) {
        Query query;
        query.*member = value;
        return query;
    };
    EXPECT_THAT(found(with(&Query::ids, std::vector{a.id})), ElementsAre("a"));
    EXPECT_THAT(found(with(&Query::ids, std::vector{WorkItemId{a.id.seq(), 0}})), IsEmpty());
    EXPECT_THAT(found(with(&Query::owner, owner)), ElementsAre("a"));
    EXPECT_THAT(found(with(&Query::message_id, std::string{"b"})), ElementsAre("b"));
    EXPECT_THAT(found(with(&Query::topic, std::string{"u"})), IsEmpty());
    EXPECT_THAT(found(with(&Query::source, std::string{"s"})), IsEmpty());
    EXPECT_THAT(found(with(&Query::state, State::ready)), ElementsAre("b", "c"));
    EXPECT_THAT(found(with(&Query::after_seq, a.id.seq())), ElementsAre("b", "c"));
    EXPECT_THAT(found(with(&Query::limit, 2u)), ElementsAre("a", "b"));
}

TEST_F(MemoryStoreTest, RefusesWhatWouldCorruptIt) {
    EXPECT_THROW(put(message("")), std::invalid_argument);
    NewMessage without_payload = message("a");
    without_payload.payload.reset();
    EXPECT_THROW(put(without_payload), std::invalid_argument);
    EXPECT_THROW((void)store.claim(Queue::outbox, {}), std::invalid_argument);
    EXPECT_THROW((void)store.claim(Queue::outbox, {.owner = owner, .lease = 0s}),
                 std::invalid_argument);
    const BornLease born{.owner = owner, .lease_id = LeaseId{1}, .lease = 1s};
    NewMessage deferred = message("a");
    deferred.due_time = clock.now();
    EXPECT_THROW(put(deferred, nullptr, &born), std::invalid_argument);
}

TEST_F(MemoryStoreTest, HasNoSql) {
    const auto tx = store.begin();
    EXPECT_EQ(kind_of([&] { tx->execute({"SELECT 1", {}}); }), ErrorKind::misuse);
    EXPECT_EQ(kind_of([&] { store.enqueue_statement(message("a")); }), ErrorKind::misuse);
}

TEST_F(MemoryStoreTest, AStoppedClaimTakesNothing) {
    put(message("a"));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THAT(store.claim(Queue::outbox, {.owner = owner}, stop.get_token()), IsEmpty());
    EXPECT_EQ(only().state, State::ready);
}

TEST_F(MemoryStoreTest, TheSameSeedGivesTheSameIds) {
    MemoryStore other(clock, {}, 1);
    const NewMessage one = message("a");
    EXPECT_EQ(put(one).id, other.enqueue(nullptr, std::span{&one, 1}).at(0).id);
}

TEST_F(MemoryStoreTest, WritesOfATransactionAppearAtItsCommit) {
    const auto tx = store.begin();
    put(message("a"), tx.get());
    put(message("b"));
    EXPECT_THAT(payloads(store.enqueued("t")), ElementsAre("b"));
    tx->commit();
    EXPECT_THAT(payloads(claim()), ElementsAre("a", "b"));
    EXPECT_FALSE(tx->in_transaction());
}

TEST_F(MemoryStoreTest, ARollbackAndADroppedTransactionLeaveNothing) {
    const auto tx = store.begin();
    NewMessage keyed = message("a");
    keyed.idempotency_key = "k";
    put(keyed, tx.get());
    tx->rollback();
    tx->rollback();
    put(keyed, store.begin().get());
    EXPECT_THAT(store.enqueued("t"), IsEmpty());
    EXPECT_FALSE(put(keyed).already_existed);
}

TEST_F(MemoryStoreTest, ATransactionSeesItsOwnKeys) {
    const auto tx = store.begin();
    NewMessage keyed = message("a");
    keyed.idempotency_key = "k";
    const EnqueueResult first = put(keyed, tx.get());
    const EnqueueResult second = put(keyed, tx.get());
    EXPECT_TRUE(second.already_existed);
    EXPECT_EQ(second.id, first.id);
    tx->commit();
    EXPECT_EQ(only().id, first.id);
}

TEST_F(MemoryStoreTest, AKeyOfAnOpenTransactionIsWaitedForAndThenAConflict) {
    NewMessage keyed = message("a");
    keyed.idempotency_key = "k";
    const auto tx = store.begin();
    put(keyed, tx.get());
    EXPECT_EQ(kind_of([&] { put(keyed); }), ErrorKind::conflict);
    const auto second = store.begin();
    EXPECT_EQ(kind_of([&] { put(keyed, second.get()); }), ErrorKind::conflict);
}

TEST_F(MemoryStoreTest, AWaitingTransactionGoesOnWhenTheKeyIsFree) {
    MemoryStore patient(clock, {.statement_timeout = 60s});
    NewMessage keyed = message("a");
    keyed.idempotency_key = "k";
    for (const bool commits : {false, true}) {
        auto tx = patient.begin();
        patient.enqueue(tx.get(), std::span{&keyed, 1});
        auto waiting = std::async(std::launch::async, [&] {
            const auto other = patient.begin();
            const bool existed =
                patient.enqueue(other.get(), std::span{&keyed, 1})[0].already_existed;
            other->rollback();
            return existed;
        });
        EXPECT_EQ(waiting.wait_for(20ms), std::future_status::timeout);
        if (commits) tx->commit();
        tx.reset();
        EXPECT_EQ(waiting.get(), commits);
    }
}

TEST_F(MemoryStoreTest, ASettlementInATransactionHoldsFromItsCommitOn) {
    put(message("a"));
    const Message claimed = claim_one();
    const auto tx = store.begin();
    EXPECT_EQ(settle(claimed, Outcome::ack, {}, tx.get()), Settled::done);
    EXPECT_EQ(settle(claimed, Outcome::ack, {}, tx.get()), Settled::lost);
    EXPECT_EQ(only().state, State::in_progress);
    tx->commit();
    EXPECT_EQ(only().state, State::done);
}

TEST_F(MemoryStoreTest, ALeaseLostBeforeTheCommitIsAConflictThatUndoesEverything) {
    put(message("a"));
    const Message claimed = claim_one();
    const auto tx = store.begin();
    bool rolled_back = false;
    bool committed = false;
    tx->after_rollback([&] { rolled_back = true; });
    tx->after_commit([&] { committed = true; });
    put(message("b"), tx.get());
    EXPECT_EQ(settle(claimed, Outcome::ack, {}, tx.get()), Settled::done);
    clock.advance(1h);
    const Message taken_over = claim_one();
    EXPECT_EQ(kind_of([&] { tx->commit(); }), ErrorKind::conflict);
    EXPECT_TRUE(rolled_back);
    EXPECT_FALSE(committed);
    EXPECT_THAT(payloads(store.enqueued("t")), ElementsAre("a"));
    EXPECT_EQ(settle(taken_over, Outcome::ack), Settled::done);
}

TEST_F(MemoryStoreTest, CallbacksRunAfterTheEndAndCannotUndoIt) {
    std::vector<std::string> seen;
    {
        const auto tx = store.begin();
        put(message("a"), tx.get());
        tx->after_commit([&] {
            seen.push_back(payloads(store.enqueued("t")).at(0));
            throw std::runtime_error("swallowed");
        });
        tx->after_commit([&] { seen.emplace_back("second"); });
        tx->after_rollback([&] { seen.emplace_back("rollback"); });
        tx->commit();
    }
    EXPECT_THAT(seen, ElementsAre("a", "second"));
    store.begin()->after_rollback([&] { seen.emplace_back("dropped"); });
    EXPECT_EQ(seen.back(), "dropped");
}

TEST_F(MemoryStoreTest, RefusesTransactionsThatEndedOrAreNotItsOwn) {
    MemoryStore other;
    const auto foreign = other.begin();
    EXPECT_EQ(kind_of([&] { put(message("a"), foreign.get()); }), ErrorKind::misuse);
    const auto ended = store.begin();
    ended->commit();
    EXPECT_EQ(kind_of([&] { put(message("a"), ended.get()); }), ErrorKind::misuse);
    EXPECT_EQ(kind_of([&] { ended->commit(); }), ErrorKind::misuse);
    EXPECT_EQ(kind_of([&] { ended->after_commit([] {}); }), ErrorKind::misuse);
}

TEST_F(MemoryStoreTest, ThreadsClaimEveryMessageExactlyOnce) {
    constexpr int count = 2000;
    for (int i = 0; i < count; ++i) put(message(std::to_string(i)));
    std::vector<std::future<int>> workers;
    for (int i = 0; i < 4; ++i)
        workers.push_back(std::async(std::launch::async, [this] {
            int acked = 0;
            for (auto claimed = claim(7); !claimed.empty(); claimed = claim(7))
                for (const Message& one : claimed)
                    acked += settle(one, Outcome::ack) == Settled::done ? 1 : 0;
            return acked;
        }));
    int total = 0;
    for (auto& worker : workers) total += worker.get();
    EXPECT_EQ(total, count);
    EXPECT_EQ(store.counts(Queue::outbox).ready, 0u);
}

TEST(ManualClock, StandsUntilItIsMoved) {
    ManualClock clock(Instant{1h});
    EXPECT_EQ(clock.now(), Instant{1h});
    clock.advance(1s);
    EXPECT_EQ(clock.now(), Instant{1h + 1s});
    clock.set(Instant{5s});
    EXPECT_EQ(clock.now(), Instant{5s});
}

TEST(MemoryStore, IsNamedByItsOptions) {
    EXPECT_EQ(MemoryStore{}.id(), "memory");
    EXPECT_EQ(MemoryStore{{.store_id = "shop"}}.id(), "shop");
}

}  // namespace
}  // namespace postroom::memory_store_test
