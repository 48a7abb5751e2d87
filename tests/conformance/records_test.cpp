// What operators read: failed attempts, the time of death, who is at work, the audit log; and
// messages that are put off.
#include "conformance/audit_law.hpp"
#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

Settlement failure(const Message& message, Outcome outcome, const std::string& error) {
    return {.lease = message.lease.value(),
            .outcome = outcome,
            .error = error,
            .destination = "http://orders.internal",
            .claimed_at = Instant{} + 17h,
            .took = 1234567us,
            .delay = 1ms};
}

TEST_P(RecordsLaw, EachFailedAttemptIsKeptWithWorkerDestinationAndError) {
    const WorkItemId id = put();
    EXPECT_THAT(attempts(id), IsEmpty());
    const Instant before = now();
    settle(failure(claim_one(), Outcome::abandon, "HTTP 503: \"later\"\n\xe2\x82\xac"));
    pass(5ms);
    settle(failure(claim_one(), Outcome::fail, "HTTP 400"));
    const std::vector<FailedAttempt> kept = attempts(id);
    ASSERT_THAT(kept, SizeIs(2));
    EXPECT_EQ(kept[0].error, "HTTP 503: \"later\"\n\xe2\x82\xac");
    EXPECT_EQ(kept[0].outcome, Outcome::abandon);
    EXPECT_EQ(kept[1].error, "HTTP 400");
    EXPECT_EQ(kept[1].outcome, Outcome::fail);
    const Instant after = now();
    for (const FailedAttempt& attempt : kept) {
        EXPECT_EQ(attempt.worker, me);
        EXPECT_EQ(attempt.destination, "http://orders.internal");
        EXPECT_EQ(attempt.claimed_at, Instant{} + 17h);
        EXPECT_EQ(attempt.took, Duration(1234567us));
        // A database may count in milliseconds.
        EXPECT_THAT(attempt.at, AllOf(Ge(before - 1ms), Le(after + 1ms)));
    }
    EXPECT_LE(kept[0].at, kept[1].at);
}

TEST_P(RecordsLaw, OnlyTheLastAttemptsAreKept) {
    const WorkItemId id = put();
    for (std::size_t i = 1; i <= attempts_kept_max + 3; ++i) {
        settle(failure(claim_one(), Outcome::abandon, "attempt " + std::to_string(i)));
        pass(5ms);
    }
    const std::vector<FailedAttempt> kept = attempts(id);
    ASSERT_THAT(kept, SizeIs(attempts_kept_max));
    EXPECT_EQ(kept.front().error, "attempt 4");
    EXPECT_EQ(kept.back().error, "attempt 23");
}

TEST_P(RecordsLaw, ALongErrorIsCutInTheAttempt) {
    const WorkItemId id = put();
    settle(failure(claim_one(), Outcome::abandon, std::string(3000, 'x')));
    EXPECT_THAT(attempts(id), ElementsAre(Field(&FailedAttempt::error,
                                                std::string(attempt_error_chars_max, 'x'))));
    EXPECT_EQ(get(id).last_error.size(), 3000U);
}

TEST_P(RecordsLaw, APermanentFailureCountsAsAnAttempt) {
    const WorkItemId fresh = put();
    settle(failure(claim_one(), Outcome::fail, "no"));
    EXPECT_EQ(get(fresh).retry_count, 1U);
    const WorkItemId retried = put();
    settle(failure(claim_one(), Outcome::abandon, "not now"));
    pass(5ms);
    settle(failure(claim_one(), Outcome::fail, "never"));
    EXPECT_EQ(get(retried).retry_count, 2U);
}

TEST_P(RecordsLaw, WhatWasNotTriedIsNoAttempt) {
    const WorkItemId expired = put();
    Settlement over = failure(claim_one(), Outcome::fail, "expired before it could be delivered");
    over.reason = DeadReason::expired;
    settle(over);
    EXPECT_EQ(get(expired).retry_count, 0U);
    EXPECT_THAT(attempts(expired), IsEmpty());
    const WorkItemId released = put();
    settle(failure(claim_one(), Outcome::release, "its destination is down"));
    EXPECT_THAT(attempts(released), IsEmpty());
}

TEST_P(RecordsLaw, ASettleWithALostLeaseLeavesNoAttempt) {
    const WorkItemId id = put();
    const Message late = claim_one(short_lease);
    pass(after_short_lease);
    ASSERT_THAT(claim(other), SizeIs(1));
    const std::vector<Settlement> settlements{failure(late, Outcome::abandon, "too late"),
                                              failure(late, Outcome::fail, "too late")};
    EXPECT_THAT(store().settle(nullptr, queue(), settlements),
                ElementsAre(Settled::lost, Settled::lost));
    EXPECT_THAT(attempts(id), IsEmpty());
}

TEST_P(RecordsLaw, AnAttemptBelongsToTheTransactionOfItsSettle) {
    const WorkItemId id = put();
    const std::vector<Settlement> settlements{failure(claim_one(), Outcome::abandon, "undone")};
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_THAT(store().settle(tx.get(), queue(), settlements), ElementsAre(Settled::ready));
        tx->rollback();
    }
    EXPECT_THAT(attempts(id), IsEmpty());
    EXPECT_EQ(get(id).retry_count, 0U);
}

TEST_P(RecordsLaw, AttemptsStayWithARedrivenMessageAndGoWithIt) {
    const WorkItemId id = put();
    settle(failure(claim_one(), Outcome::fail, "no"));
    ASSERT_EQ(store().redrive(queue(), std::vector{id}), 1U);
    EXPECT_THAT(attempts(id), SizeIs(1));
    work().ack(claim_one());
    EXPECT_THAT(attempts(id), SizeIs(queue() == Queue::outbox ? 1 : 0)) << "the history has them";
    pass(5ms);
    store().purge(queue(), {.older_than = 1ms});
    EXPECT_THAT(attempts(id), IsEmpty());
}

TEST_P(RecordsLaw, WithoutHistoryAttemptsGoWithTheDelivery) {
    open({.deploy_schema = true, .keep_history = false});
    const WorkItemId id = put();
    settle(failure(claim_one(), Outcome::abandon, "not now"));
    pass(5ms);
    ASSERT_THAT(attempts(id), SizeIs(1));
    work().ack(claim_one());
    EXPECT_THAT(attempts(id), IsEmpty());
}

TEST_P(RecordsLaw, ADeadMessageKnowsWhenItDied) {
    const WorkItemId fresh = put();
    EXPECT_EQ(get(fresh).died_at, std::nullopt);
    const Instant before = now();
    settle(failure(claim_one(), Outcome::fail, "no"));
    const WorkItemId used_up = put({.max_attempts = 1});
    settle(failure(claim_one(), Outcome::abandon, "no"));
    for (const WorkItemId& id : {fresh, used_up}) {
        ASSERT_NE(get(id).died_at, std::nullopt);
        EXPECT_THAT(*get(id).died_at, AllOf(Ge(before - 1ms), Le(now() + 1ms)));
    }
    store().redrive(queue(), std::vector{fresh});
    EXPECT_EQ(get(fresh).died_at, std::nullopt);
    settle(failure(claim_one(), Outcome::abandon, "not now"));
    EXPECT_EQ(get(fresh).died_at, std::nullopt);
}

TEST_P(RecordsLaw, RetryNowMakesWhatIsPutOffClaimable) {
    const WorkItemId retrying = put();
    work().abandon(claim_one(), "not now", 1h);
    const WorkItemId given_back = put();
    work().release(claim_one(), 1h);
    const WorkItemId dead = put();
    work().fail(leases_of(claim_one()), "no");
    const WorkItemId due_later = put({.due_time = now() + 1h});
    const WorkItemId ready = put();
    const Query put_off{.put_off = true};
    EXPECT_THAT(ids_of(store().find(queue(), put_off)), ElementsAre(retrying, given_back));
    EXPECT_EQ(store().count(queue(), put_off), 2U);

    const std::vector<WorkItemId> all{retrying, given_back, dead, due_later, ready};
    EXPECT_EQ(controls().retry_now(queue(), all), 2U);
    EXPECT_THAT(store().find(queue(), put_off), IsEmpty());
    EXPECT_EQ(controls().retry_now(queue(), all), 0U);
    EXPECT_EQ(get(retrying).retry_count, 1U) << "nothing else has changed";
    EXPECT_EQ(get(dead).state, State::dead);
    pass(5ms);
    EXPECT_THAT(ids_of(claim()), testing::UnorderedElementsAre(retrying, given_back, ready));
}

TEST_P(RecordsLaw, RetryNowKeepsToTheDueTimeAndLeavesWhatIsHeld) {
    const Instant due = now() + 300ms;
    const WorkItemId deferred = put({.due_time = due});
    pass(400ms);
    work().abandon(claim_one(), "not now", 1h);
    EXPECT_EQ(controls().retry_now(queue(), std::vector{deferred}), 1U);
    EXPECT_GE(get(deferred).available_at, due);
    const Message held = claim_one();
    EXPECT_EQ(controls().retry_now(queue(), std::vector{deferred}), 0U);
    EXPECT_EQ(work().ack(held), Settled::done);
}

WorkerReport report_of(const OwnerToken& owner, Queue queue, Instant at) {
    return {.owner = owner,
            .queue = queue,
            .host = "mail-1",
            .pid = 4711,
            .version = "1.2.3",
            .started = at - 1h,
            .last_seen = at,
            .lease = 30s,
            .topics = {"*", "order.placed"},
            .circuits = {{.destination = "http://orders.internal",
                          .error = "connection \"refused\"",
                          .since = at - 3min,
                          .next_probe = at + 20s}},
            .in_hand = 17,
            .delivered_per_second = 1234.5,
            .failed_per_second = 0.25,
            .repeats = {{.source = "", .duplicates = 3},
                        {.source = "a \"shop\"", .duplicates = 1'000'000, .hash_mismatches = 2}}};
}

TEST_P(RecordsLaw, WorkersSayWhoTheyAreByTheDatabasesClock) {
    EXPECT_THAT(controls().workers(), IsEmpty());
    // The reporter's clock is far off.
    const WorkerReport given = report_of(me, queue(), Instant{} + 50h);
    const Instant before = now();
    controls().report_worker(given);
    const std::vector<WorkerReport> workers = controls().workers();
    ASSERT_THAT(workers, SizeIs(1));
    WorkerReport told = workers.front();
    EXPECT_THAT(told.last_seen, AllOf(Ge(before - 1ms), Le(now() + 1ms)));
    shift_times(told, given.last_seen - told.last_seen);
    EXPECT_EQ(told, given);
}

TEST_P(RecordsLaw, AReportTakesThePlaceOfTheOneBefore) {
    const Instant at = now();
    WorkerReport first = report_of(me, queue(), at);
    controls().report_worker(first);
    controls().report_worker(report_of(other, Queue::outbox, at - 1h));
    first.circuits.clear();
    controls().report_worker(first);
    const std::vector<WorkerReport> workers = controls().workers();
    ASSERT_THAT(workers, SizeIs(2));
    const WorkerReport& mine = workers[0].owner == me ? workers[0] : workers[1];
    EXPECT_THAT(mine.circuits, IsEmpty());
    controls().forget_worker(me, queue() == Queue::outbox ? Queue::inbox : Queue::outbox);
    EXPECT_THAT(controls().workers(), SizeIs(2)) << "it works on another queue too";
    controls().forget_worker(me, queue());
    EXPECT_THAT(controls().workers(), ElementsAre(Field(&WorkerReport::owner, other)));
}

TEST_P(RecordsLaw, WhoStaysSilentIsGone) {
    WorkerReport soon = report_of(me, queue(), now());
    soon.interval = 10ms;
    controls().report_worker(soon);
    controls().report_worker(report_of(other, queue(), now()));
    pass(100ms);
    EXPECT_THAT(controls().workers(), ElementsAre(Field(&WorkerReport::owner, other)));
}

TEST_P(RecordsLaw, TheAuditLogIsReadFromTheEnd) {
    EXPECT_THAT(controls().audit_log(0, 10), IsEmpty());
    const Instant before = now();
    for (const char* const verb : {"redrive", "discard", "pause"})
        controls().record_audit({.who = "ann@mail-1",
                                 .what = verb,
                                 .target = "topic 'a\xe2\x82\xac'",
                                 .count = 3,
                                 .outcome = "done"});
    const std::vector<AuditEntry> newest = controls().audit_log(0, 2);
    ASSERT_THAT(newest, SizeIs(2));
    EXPECT_EQ(newest[0].what, "pause");
    EXPECT_EQ(newest[1].what, "discard");
    const std::vector<AuditEntry> older = controls().audit_log(newest[1].id, 10);
    ASSERT_THAT(older, SizeIs(1));
    EXPECT_EQ(older[0].what, "redrive");
    EXPECT_EQ(older[0].who, "ann@mail-1");
    EXPECT_EQ(older[0].target, "topic 'a\xe2\x82\xac'");
    EXPECT_EQ(older[0].count, 3U);
    EXPECT_EQ(older[0].outcome, "done");
    EXPECT_THAT(older[0].at, AllOf(Ge(before - 1ms), Le(now() + 1ms)));
}

TEST_P(AuditLaw, TheAuditLogIsOnlyEverAddedTo) {
    controls().record_audit(
        {.who = "ann", .what = "discard", .target = "t", .count = 3, .outcome = "done"});
    const std::string log = table("outbox_audit");
    for (const std::string& statement :
         {"UPDATE " + log + " SET who = 'bob'", "UPDATE " + log + " SET affected = 0",
          "DELETE FROM " + log, "DELETE FROM " + log + " WHERE who = 'ann'"})
        EXPECT_THAT(thrown([&] { sql(statement); }), HasSubstr("only ever added to")) << statement;
    const std::vector<AuditEntry> entries = controls().audit_log(0, 10);
    ASSERT_THAT(entries, SizeIs(1));
    EXPECT_EQ(entries[0].who, "ann");
    EXPECT_EQ(entries[0].count, 3U);
}

}  // namespace
}  // namespace postroom::test
