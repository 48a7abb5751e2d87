// Ordering keys: messages of one key come in order of seq, one at a time; other keys do not notice.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "conformance/law.hpp"
#include "support/scale.hpp"

namespace postroom::test {

WorkItemId OrderingLaw::put_in_line(const std::string& key, const std::string& payload) {
    return put({.payload = payload, .ordering_key = key});
}

void OrderingLaw::put_line(const std::string& key, const std::vector<std::string>& payloads) {
    for (const std::string& payload : payloads) put_in_line(key, payload);
}

std::vector<std::string> OrderingLaw::claimed_payloads(std::uint32_t batch) {
    return payloads_of(claim(batch));
}

Settled OrderingLaw::settle_next(const Settlement& like) {
    Settlement settlement = like;
    settlement.lease = claim_one().lease.value();
    return store().settle(nullptr, queue(), std::vector{settlement}).at(0);
}

namespace {

using namespace std::chrono_literals;

TEST_P(OrderingLaw, MessagesOfAKeyComeInOrderAndOneAtATime) {
    put_line("a", {"1", "2", "3"});
    for (const char* expected : {"1", "2", "3"}) {
        const std::vector<Message> claimed = claim();
        ASSERT_THAT(payloads_of(claimed), ElementsAre(expected));
        EXPECT_EQ(claimed[0].ordering_key, "a");
        EXPECT_THAT(claim(other), IsEmpty());
        EXPECT_THAT(work().ack(leases_of(claimed)), ElementsAre(Settled::done));
    }
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(OrderingLaw, OneClaimTakesOneMessageOfEachKeyAndAllWithoutAKey) {
    put_line("a", {"a1", "a2"});
    put_line("b", {"b1", "b2"});
    put({.payload = "x"});
    put({.payload = "y"});
    EXPECT_THAT(claimed_payloads(), UnorderedElementsAre("a1", "b1", "x", "y"));
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(OrderingLaw, KeysAreComparedByteByByte) {
    put_in_line("a", "1");
    put_in_line("A", "2");
    put_in_line("a ", "3");
    EXPECT_THAT(claim(), SizeIs(3));
}

TEST_P(OrderingLaw, AnotherProcessDoesNotGetAKeyThatIsHeld) {
    put_line("a", {"1", "2"});
    const std::unique_ptr<Store> second = sandbox().reopen();
    const auto there = face(*second, {});
    const std::vector<Message> mine = claim();
    ASSERT_THAT(payloads_of(mine), ElementsAre("1"));
    EXPECT_THAT(there->claim(other, long_lease, 10), IsEmpty());
    work().ack(leases_of(mine));
    EXPECT_THAT(payloads_of(there->claim(other, long_lease, 10)), ElementsAre("2"));
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(OrderingLaw, AMessageThatFailedHoldsBackItsKeyAndNothingElse) {
    put_line("a", {"a1", "a2"});
    ASSERT_EQ(settle_next({.outcome = Outcome::abandon, .delay = 1h, .max_attempts = 10}),
              Settled::ready);
    EXPECT_THAT(claim(), IsEmpty());
    put_line("b", {"b1", "b2"});
    put({.payload = "x"});
    EXPECT_THAT(claimed_payloads(), UnorderedElementsAre("b1", "x"));
}

TEST_P(OrderingLaw, AMessageThatFailedIsTriedAgainBeforeTheNextOfItsKey) {
    put_line("a", {"1", "2"});
    settle_next({.outcome = Outcome::abandon, .delay = 1ms, .max_attempts = 10});
    pass(10ms);
    EXPECT_THAT(claimed_payloads(), ElementsAre("1"));
}

TEST_P(OrderingLaw, AReleasedMessageKeepsItsPlace) {
    put_line("a", {"1", "2"});
    settle_next({.outcome = Outcome::release});
    pass(5ms);
    EXPECT_THAT(claimed_payloads(), ElementsAre("1"));
}

TEST_P(OrderingLaw, AMessageForLaterIsWaitedFor) {
    put({.payload = "much later", .due_time = now() + 1h, .ordering_key = "a"});
    put_in_line("a", "behind it");
    put_in_line("b", "other");
    EXPECT_THAT(claimed_payloads(), ElementsAre("other"));
    EXPECT_THAT(claim(), IsEmpty());

    put({.payload = "1", .due_time = now() + 300ms, .ordering_key = "c"});
    put_in_line("c", "2");
    std::vector<std::string> claimed = claimed_payloads();  // none, unless the machine stood still
    pass(400ms);
    for (const std::string& payload : claimed_payloads()) claimed.push_back(payload);
    EXPECT_THAT(claimed, ElementsAre("1"));
}

TEST_P(OrderingLaw, PriorityPlaysNoPartAmongMessagesOfAKey) {
    put({.payload = "1", .priority = -1, .ordering_key = "a"});
    put({.payload = "2", .priority = 9, .ordering_key = "a"});
    put({.payload = "3", .priority = 0, .ordering_key = "a"});
    for (const char* expected : {"1", "2", "3"}) {
        const std::vector<Message> claimed = claim();
        ASSERT_THAT(payloads_of(claimed), ElementsAre(expected));
        work().ack(leases_of(claimed));
    }
}

TEST_P(OrderingLaw, ALostLeaseIsTakenOverBeforeTheNextOfItsKey) {
    put_line("a", {"1", "2", "3"});
    const std::vector<Message> lost = claim(me, 10, short_lease);
    ASSERT_THAT(lost, SizeIs(1));
    pass(after_short_lease);
    const std::vector<Message> taken = claim(other);
    ASSERT_THAT(payloads_of(taken), ElementsAre("1"));
    EXPECT_EQ(taken[0].lost_count, 1U);
    EXPECT_THAT(work().ack(leases_of(lost)), ElementsAre(Settled::lost));
    EXPECT_THAT(claim(), IsEmpty());
    work().ack(leases_of(taken));
    EXPECT_THAT(claimed_payloads(), ElementsAre("2"));
}

TEST_P(OrderingLaw, AReapedMessageKeepsItsPlace) {
    put_line("a", {"1", "2"});
    ASSERT_THAT(claim(me, 10, short_lease), SizeIs(1));
    pass(after_short_lease);
    EXPECT_EQ(work().reap_expired(), 1U);
    EXPECT_THAT(claimed_payloads(), ElementsAre("1"));
}

TEST_P(OrderingLaw, ADeadMessageHoldsBackItsKeyUntilItIsRedriven) {
    const WorkItemId first = put_in_line("a", "1");
    put_line("a", {"2", "3"});
    put_in_line("b", "other");
    const std::vector<Message> claimed = claim();
    ASSERT_THAT(claimed, SizeIs(2));
    for (const Message& message : claimed) {
        if (message.payload == "1")
            work().fail(leases_of(message), "x");
        else
            work().ack(leases_of(message));
    }
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(work().redrive(std::vector{first}), 1U);
    EXPECT_THAT(claimed_payloads(), ElementsAre("1"));
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(OrderingLaw, AMessageThatReachedItsAttemptsHoldsBackItsKey) {
    put_line("a", {"1", "2"});
    ASSERT_EQ(settle_next({.outcome = Outcome::abandon, .delay = 1ms, .max_attempts = 1}),
              Settled::dead);
    pass(5ms);
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(OrderingLaw, ADeadMessageThatFreesItsKeyLetsTheNextGo) {
    put_line("a", {"1", "2", "3"});
    EXPECT_THAT(claim(other, 10, short_lease), SizeIs(1));
    pass(after_short_lease);
    ASSERT_EQ(settle_next({.outcome = Outcome::fail, .frees_key = true}), Settled::dead);
    ASSERT_EQ(
        settle_next(
            {.outcome = Outcome::abandon, .delay = 1ms, .max_attempts = 1, .frees_key = true}),
        Settled::dead);
    EXPECT_THAT(claimed_payloads(), ElementsAre("3"));
    EXPECT_EQ(store().counts(queue()).dead, 2U);
}

TEST_P(OrderingLaw, FreesKeyMeansNothingForAMessageThatLives) {
    put_line("a", {"1", "2"});
    ASSERT_EQ(settle_next(
                  {.outcome = Outcome::abandon, .delay = 1h, .max_attempts = 5, .frees_key = true}),
              Settled::ready);
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(OrderingLaw, ARedrivenMessageThatHadFreedItsKeyIsAnOrdinaryMemberAgain) {
    const WorkItemId first = put_in_line("a", "1");
    put_line("a", {"2", "3"});
    settle_next({.outcome = Outcome::fail, .frees_key = true});
    const std::vector<Message> second = claim();
    ASSERT_THAT(payloads_of(second), ElementsAre("2"));
    EXPECT_EQ(work().redrive(std::vector{first}), 1U);
    EXPECT_THAT(claim(), IsEmpty()) << "the key is held";
    work().abandon(leases_of(second), "x", 1ms);
    pass(10ms);
    const std::vector<Message> again = claim();
    ASSERT_THAT(payloads_of(again), ElementsAre("1"));
    EXPECT_THAT(claim(), IsEmpty());
    work().fail(leases_of(again), "x");
    EXPECT_THAT(claim(), IsEmpty()) << "dead without frees_key";
    EXPECT_EQ(work().redrive(std::vector{first}), 1U);
    ack_next();
    ack_next();
    EXPECT_THAT(claimed_payloads(), ElementsAre("3"));
}

TEST_P(OrderingLaw, ABatchKeepsItsOrder) {
    const std::vector<WorkItemId> ids = put_many(5, {.ordering_key = "a"});
    for (const WorkItemId& id : ids) {
        const Message next = claim_one();
        EXPECT_EQ(next.id, id);
        work().ack(leases_of(next));
    }
    EXPECT_THAT(claim(), IsEmpty());
}

// Ids of one's own are idempotency keys, and the keys of an inbox: they sort differently.
TEST_P(OrderingLaw, ABatchKeepsItsOrderWhateverItsIds) {
    std::vector<NewMessage> out;
    std::vector<ReceivedMessage> in;
    for (const char* id : {"c", "a", "d", "b"}) {
        NewMessage sent{.topic = TopicName("t"), .payload = id};
        sent.message_id = MessageId(id);
        sent.ordering_key = "k";
        out.push_back(sent);
        in.push_back({.topic = TopicName("t"),
                      .source = "s",
                      .message_id = id,
                      .payload = id,
                      .ordering_key = "k"});
    }
    if (queue() == Queue::outbox)
        outbox().enqueue_all(out);
    else
        inbox().enqueue_all(in);
    for (const char* expected : {"c", "a", "d", "b"}) {
        const Message next = claim_one();
        EXPECT_EQ(next.payload, expected);
        work().ack(leases_of(next));
    }
}

TEST_P(OrderingLaw, SettlesInATransactionCountWhenItCommits) {
    put_line("a", {"1", "2"});
    const std::vector<Message> claimed = claim();
    ASSERT_THAT(claimed, SizeIs(1));
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        store().settle(tx.get(), queue(), std::vector{Settlement{.lease = *claimed[0].lease}});
        tx->rollback();
    }
    EXPECT_THAT(claim(), IsEmpty());
    const std::unique_ptr<Transaction> tx = store().begin();
    store().settle(tx.get(), queue(), std::vector{Settlement{.lease = *claimed[0].lease}});
    tx->commit();
    EXPECT_THAT(claimed_payloads(), ElementsAre("2"));
}

TEST_P(OrderingLaw, CountsAndStatesDoNotDependOnTheKey) {
    put_line("a", {"1", "2", "3"});
    put_line("b", {"4"});
    EXPECT_EQ(store().counts(queue()).ready, 4U);
    ASSERT_THAT(claim(), SizeIs(2));
    const Counts counts = store().counts(queue());
    EXPECT_EQ(counts.ready, 2U);
    EXPECT_EQ(counts.in_progress, 2U);
    EXPECT_THAT(store().find(queue(), {.state = State::ready}), SizeIs(2));
}

// The claims in SQL draw which kind comes first, one in four times the other one: sixty in a row
// are never of one kind. What the library's claims do is pinned by
// ABatchIsSharedBetweenTheBandsByOneRule.
TEST_P(OrderingLaw, MessagesWithAndWithoutAKeyShareASmallBatch) {
    for (int i = 0; i < 60; ++i) put_in_line("k" + std::to_string(i), "keyed");
    put_many(60, {.payload = "plain"});
    std::set<std::string> seen;
    for (int i = 0; i < 60 && seen.size() < 2; ++i) seen.insert(claim_one().payload);
    EXPECT_THAT(seen, ElementsAre("keyed", "plain"));
}

// Goal: what waits behind a dead message costs other claims nothing.
// Method: once the line was looked at, every claim finds what it wants among many more than it may
// look at.
TEST_P(OrderingLaw, ADeepLineBehindADeadMessageDoesNotHoldUpOthers) {
    const std::size_t depth = 2000;
    put_many(depth, {.payload = "deep", .ordering_key = "deep"});
    settle_next({.outcome = Outcome::fail});
    for (int i = 0; i < 4; ++i) EXPECT_THAT(claim(10), IsEmpty());
    for (int i = 0; i < 20; ++i) put_in_line("k" + std::to_string(i), "other");
    EXPECT_THAT(claim(10), SizeIs(10));
    EXPECT_THAT(claim(10), SizeIs(10));
    EXPECT_THAT(claim(10), IsEmpty());
    EXPECT_EQ(store().counts(queue()).ready, depth - 1);
}

TEST_P(OrderingLaw, ConcurrentWorkersKeepTheOrderOfEveryKey) {
    constexpr int keys = 20;
    const int each = static_cast<int>(scaled(50, 10));
    for (int n = 0; n < each; ++n)
        for (int k = 0; k < keys; ++k) put_in_line("k" + std::to_string(k), std::to_string(n));
    std::mutex mutex;
    std::map<std::string, int> next;
    std::set<std::string> held;
    std::atomic<int> done = 0;
    in_parallel(8, [&](int) {
        const OwnerToken owner = OwnerToken::generate();
        const auto give_up = std::chrono::steady_clock::now() + 200s;
        while (done < keys * each && std::chrono::steady_clock::now() < give_up) {
            for (const Message& message : work().claim(owner, long_lease, 5)) {
                {
                    const std::lock_guard lock(mutex);
                    EXPECT_TRUE(held.insert(message.ordering_key).second) << "two at once";
                    EXPECT_EQ(message.payload, std::to_string(next[message.ordering_key]++));
                    held.erase(message.ordering_key);
                }
                if (work().ack(leases_of(message)).at(0) == Settled::done) ++done;
            }
        }
    });
    EXPECT_EQ(done, keys * each);
    EXPECT_THAT(claim(), IsEmpty());
}

// Goal: no message is left marked as waiting for another that has gone.
// Method: writers commit to few keys while workers acknowledge them; the line is nearly always
// about to become empty.
TEST_P(OrderingLaw, NothingIsStuckWhenWritersAndWorkersMeet) {
    const int per_writer = static_cast<int>(scaled(150, 40));
    constexpr int writers = 3;
    std::atomic<int> done = 0;
    work();
    std::mutex naming;  // put() numbers its messages
    in_parallel(8, [&](int i) {
        if (i < writers) {
            for (int n = 0; n < per_writer; ++n) {
                const std::lock_guard lock(naming);
                put_in_line("k" + std::to_string(n % 2), "x");
            }
            return;
        }
        const OwnerToken owner = OwnerToken::generate();
        const auto give_up = std::chrono::steady_clock::now() + 200s;
        while (done < writers * per_writer && std::chrono::steady_clock::now() < give_up)
            for (const Settled settled : work().ack(leases_of(work().claim(owner, long_lease, 4))))
                done += settled == Settled::done ? 1 : 0;
    });
    EXPECT_EQ(done, writers * per_writer);
    EXPECT_EQ(store().counts(queue()).ready, 0U);
}

TEST_P(OrderingLaw, BlockedKeysAreListedByWhatBlocksThem) {
    const Query blocking{.blocking = true};
    const WorkItemId dead = put_in_line("dead", "1");
    put_in_line("dead", "2");
    const WorkItemId retrying = put_in_line("retrying", "1");
    put_line("retrying", {"2", "3"});
    put_in_line("alone", "1");
    put_line("freed", {"1", "2"});
    put_line("fine", {"1", "2"});
    put();
    EXPECT_THAT(store().find(queue(), blocking), IsEmpty());
    std::vector<Settlement> settlements;
    for (const Message& message : claim()) {
        Settlement settlement{.lease = *message.lease, .outcome = Outcome::fail};
        if (message.ordering_key == "retrying") settlement.outcome = Outcome::abandon;
        if (message.ordering_key == "freed") settlement.frees_key = true;
        settlement.delay = 1h;
        settlement.max_attempts = 10;
        if (message.ordering_key == "fine" || message.ordering_key.empty())
            settlement.outcome = Outcome::ack;
        settlements.push_back(settlement);
    }
    ASSERT_THAT(settlements, SizeIs(6));
    store().settle(nullptr, queue(), settlements);
    EXPECT_THAT(ids_of(store().find(queue(), blocking)), ElementsAre(dead, retrying));
    EXPECT_THAT(ids_of(store().find(queue(), {.state = State::dead, .blocking = true})),
                ElementsAre(dead));
    work().redrive(std::vector{dead});
    EXPECT_THAT(ids_of(store().find(queue(), blocking)), ElementsAre(retrying));
}

// Goal: a message does not rest longer than it lives: at its end a claim finds it and lets it die.
TEST_P(OrderingLaw, AMessageIsNotKeptWaitingBeyondItsEnd) {
    const Instant end = now() + 1h;
    for (const std::string key : {"", "a"}) put({.expires_at = end, .ordering_key = key});
    const std::vector<Message> abandoned = claim();
    ASSERT_THAT(abandoned, SizeIs(2));
    work().abandon(leases_of(abandoned), "x", 2h);
    for (const std::string key : {"", "b"}) put({.expires_at = end, .ordering_key = key});
    const std::vector<Message> released = claim();
    ASSERT_THAT(released, SizeIs(2));
    work().release(leases_of(released), 2h);
    for (const std::vector<Message>& some : {abandoned, released})
        for (const Message& message : some) EXPECT_EQ(get(message.id).available_at, end);
}

// The inbox.

ReceivedMessage received(const std::string& id, const std::string& key) {
    ReceivedMessage message;
    message.topic = "t";
    message.source = "s";
    message.message_id = id;
    message.payload = id;
    message.ordering_key = key;
    return message;
}

TEST_P(InboxOrderingLaw, AMessageMarkedAsProcessedLetsTheNextGo) {
    for (const char* id : {"1", "2", "3"}) inbox().enqueue(received(id, "a"));
    ASSERT_THAT(claim(10, short_lease), SizeIs(1));
    inbox().mark_processed({.source = "s", .message_id = "1"});
    const std::vector<Message> next = claim();
    ASSERT_THAT(payloads_of(next), ElementsAre("2"));
    inbox().mark_processed({.source = "s", .message_id = "3"});
    work().ack(leases_of(next));
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(InboxOrderingLaw, AMessageMarkedAsDeadHoldsBackItsKey) {
    for (const char* id : {"1", "2"}) inbox().enqueue(received(id, "a"));
    inbox().mark_dead({.source = "s", .message_id = "1"}, "x");
    EXPECT_THAT(claim(), IsEmpty());
    inbox().mark_processing({.source = "s", .message_id = "1"});
    EXPECT_THAT(claimed_payloads(), ElementsAre("1"));
    inbox().mark_processed({.source = "s", .message_id = "1"});
    EXPECT_THAT(claimed_payloads(), ElementsAre("2"));
}

TEST_P(InboxOrderingLaw, AMessageThatArrivesAgainKeepsItsPlace) {
    for (const char* id : {"1", "2", "3"}) inbox().enqueue(received(id, "a"));
    inbox().enqueue(received("2", "a"));
    inbox().enqueue(received("1", "a"));
    for (const char* expected : {"1", "2", "3"}) {
        const Message next = claim_one();
        EXPECT_EQ(next.payload, expected);
        inbox().enqueue(received(expected, "a"));  // left alone while it is held
        work().ack(leases_of(next));
        inbox().enqueue(received(expected, "a"));  // done stays done and is in nobody's way
    }
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(InboxOrderingLaw, AMessageThatArrivesWithAnotherKeyChangesTheLine) {
    for (const char* id : {"1", "2"}) inbox().enqueue(received(id, "a"));
    inbox().enqueue(received("3", "b"));
    inbox().enqueue(received("1", "b"));
    EXPECT_THAT(claimed_payloads(), UnorderedElementsAre("1", "2"));
    inbox().mark_processed({.source = "s", .message_id = "1"});
    EXPECT_THAT(claimed_payloads(), ElementsAre("3"));
}

TEST_P(InboxOrderingLaw, AMessageThatArrivesWithoutItsKeyLeavesTheLine) {
    for (const char* id : {"1", "2"}) inbox().enqueue(received(id, "a"));
    EXPECT_THAT(claim(10, short_lease), SizeIs(1));
    pass(after_short_lease);
    EXPECT_EQ(work().reap_expired(), 1U);
    inbox().enqueue(received("1", ""));
    EXPECT_THAT(claimed_payloads(), UnorderedElementsAre("1", "2"));
}

TEST_P(InboxOrderingLaw, ALineIsNotHeldUpByTheLeaseOfAMessageThatHasLeftIt) {
    inbox().enqueue(received("1", "a"));
    work().abandon(leases_of(claim()), "x", 1ms);
    inbox().enqueue(received("1", "b"));
    pass(10ms);
    EXPECT_THAT(claimed_payloads(), ElementsAre("1"));
    inbox().enqueue(received("2", "a"));
    inbox().enqueue(received("3", "b"));
    EXPECT_THAT(claimed_payloads(), ElementsAre("2"));
}

TEST_P(InboxOrderingLaw, AMessageThatGetsAKeyStandsInLine) {
    for (const char* id : {"1", "2"}) inbox().enqueue(received(id, ""));
    for (const char* id : {"2", "1"}) inbox().enqueue(received(id, "a"));
    EXPECT_THAT(claimed_payloads(), ElementsAre("1"));
    inbox().mark_processed({.source = "s", .message_id = "1"});
    EXPECT_THAT(claimed_payloads(), ElementsAre("2"));
}

TEST_P(InboxOrderingLaw, ADeadMessageThatFreedItsKeyStaysOutOfTheWayWhenItArrivesAgain) {
    for (const char* id : {"1", "2", "3"}) inbox().enqueue(received(id, "a"));
    settle_next({.outcome = Outcome::fail, .frees_key = true});
    inbox().enqueue(received("1", "a"));
    ack_next();
    store().receive(nullptr, std::vector{received("1", "a")}, true);
    EXPECT_THAT(claimed_payloads(), ElementsAre("1"));
    EXPECT_THAT(claim(), IsEmpty());
}

}  // namespace
}  // namespace postroom::test
