// The use cases of operators, on a store in memory and on virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/audit.hpp"
#include "admin/bulk.hpp"
#include "admin/explain.hpp"
#include "admin/health.hpp"
#include "admin/json_view.hpp"
#include "admin/messages.hpp"
#include "admin/pauses.hpp"
#include "admin/workers.hpp"
#include "conformance/forwarding_store.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"

namespace postroom::test::admin_test {
namespace {

using namespace std::chrono_literals;
using admin::Change;
using admin::Reason;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// A store in memory, and a record of what it was asked.
class ControlledStore final : public ForwardingStore, public StoreControls {
public:
    explicit ControlledStore(MemoryStore& inner) : ForwardingStore(inner), desk_(inner) {}

    std::vector<Message> find(Queue queue, const Query& query) override {
        queries.push_back(query);
        return ForwardingStore::find(queue, query);
    }

    std::vector<PausedTopic> paused_topics() override { return desk_.paused_topics(); }
    void pause_topic(const std::string& topic) override { desk_.pause_topic(topic); }
    void resume_topic(const std::string& topic) override { desk_.resume_topic(topic); }
    std::uint64_t discard(Queue queue, std::span<const WorkItemId> ids) override {
        discarded.insert(discarded.end(), ids.begin(), ids.end());
        return desk_.discard(queue, ids);
    }
    std::uint64_t retry_now(Queue queue, std::span<const WorkItemId> ids) override {
        return desk_.retry_now(queue, ids);
    }
    void report_worker(const WorkerReport& report) override { desk_.report_worker(report); }
    void forget_worker(const OwnerToken& owner, Queue queue) override {
        desk_.forget_worker(owner, queue);
    }
    std::vector<WorkerReport> workers() override { return desk_.workers(); }
    std::vector<FailedAttempt> attempts(Queue queue, const WorkItemId& id) override {
        return desk_.attempts(queue, id);
    }
    void record_audit(const AuditEntry& entry) override { desk_.record_audit(entry); }
    std::vector<AuditEntry> audit_log(std::uint64_t before_id, std::uint32_t limit) override {
        return desk_.audit_log(before_id, limit);
    }
    std::vector<Finding> examine() override {
        return {{.check = "durability", .health = Finding::Health::bad, .what = "none"}};
    }

    std::vector<Query> queries;
    std::vector<WorkItemId> discarded;

private:
    StoreControls& desk_;
};

class AdminTest : public testing::Test {
protected:
    WorkItemId put(const NewMessage& message) { return Outbox(memory).enqueue(message).id; }
    WorkItemId put(const std::string& topic) {
        return put(NewMessage{.topic = TopicName(topic), .payload = "12"});
    }
    WorkItemId put_keyed(const std::string& key) {
        NewMessage message{.topic = "t", .payload = "{}"};
        message.ordering_key = key;
        return put(message);
    }
    std::vector<WorkItemId> put_dead(std::size_t count, const std::string& error = "broken") {
        std::vector<WorkItemId> ids;
        for (std::size_t i = 0; i < count; ++i) ids.push_back(put("t"));
        settle(claim(static_cast<std::uint32_t>(count)),
               {.outcome = Outcome::fail, .error = error});
        return ids;
    }

    std::vector<Message> claim(std::uint32_t batch = 1) {
        return memory.claim(Queue::outbox, {.owner = worker, .lease = 30s, .batch = batch});
    }
    void settle(const std::vector<Message>& messages, Settlement like) {
        std::vector<Settlement> settlements;
        for (const Message& message : messages) {
            like.lease = message.lease.value();
            settlements.push_back(like);
        }
        memory.settle(nullptr, Queue::outbox, settlements);
    }
    Message get(const WorkItemId& id) { return memory.find(Queue::outbox, {.ids = {id}}).at(0); }
    admin::Explanation explain(const WorkItemId& id) { return admin::explain(store, get(id)); }

    ManualClock clock;
    MemoryStore memory{clock};
    ControlledStore store{memory};
    const OwnerToken worker = OwnerToken::generate();
};

TEST_F(AdminTest, StatusCountsAndNamesWhatIsPaused) {
    put("a");
    put_dead(1);
    store.pause_topic("a");
    const admin::QueueStatus status = admin::queue_status(store, Queue::outbox);
    EXPECT_EQ(status.counts.ready + status.counts.dead, 2U);
    ASSERT_THAT(status.paused, SizeIs(1));
    EXPECT_THAT(admin::json_of(status), AllOf(HasSubstr(R"("queue":"outbox")"),
                                              HasSubstr(R"("paused":[{"topic":"a","paused_at":)")));
    EXPECT_THAT(admin::queue_status(store, Queue::inbox).paused, SizeIs(0));
    ForwardingStore bare(memory);
    EXPECT_THAT(admin::queue_status(bare, Queue::outbox).paused, SizeIs(0)) << "no controls";
}

TEST_F(AdminTest, AListHasNoPayloadsAndSaysWhereTheNextPageBegins) {
    const WorkItemId first = put("a");
    const WorkItemId second = put("b");
    store.pause_topic("b");
    Query query{.newest_first = true, .limit = 1};
    const admin::MessagePage page = admin::list_messages(store, Queue::outbox, query);
    ASSERT_THAT(page.messages, SizeIs(1));
    EXPECT_EQ(page.messages[0].message.id, second);
    EXPECT_TRUE(page.messages[0].paused);
    EXPECT_EQ(page.messages[0].message.payload, "");
    EXPECT_EQ(page.next_seq, second.seq());
    EXPECT_THAT(admin::json_of(page),
                AllOf(HasSubstr(R"("paused":true)"), HasSubstr(R"("payload_bytes":2)")));
    query.before_seq = *page.next_seq;
    query.limit = 2;
    const admin::MessagePage last = admin::list_messages(store, Queue::outbox, query);
    ASSERT_THAT(last.messages, SizeIs(1));
    EXPECT_EQ(last.messages[0].message.id, first);
    EXPECT_FALSE(last.messages[0].paused);
    EXPECT_FALSE(last.next_seq.has_value());
}

TEST_F(AdminTest, APageOfMessagesWithoutANumberIsTheLast) {
    memory.see(nullptr, {.source = "shop", .message_id = "1"}, std::nullopt);
    memory.see(nullptr, {.source = "shop", .message_id = "2"}, std::nullopt);
    const admin::MessagePage page =
        admin::list_messages(store, Queue::inbox, {.newest_first = true, .limit = 1});
    EXPECT_THAT(page.messages, SizeIs(1));
    EXPECT_FALSE(page.next_seq.has_value());
}

TEST_F(AdminTest, AMessageIsFoundByEitherIdAndWithItsPayloadOnlyIfAskedFor) {
    const WorkItemId id = put("a");
    const std::string message_id = get(id).message_id.str();
    for (const std::string& name : {id.to_string(), message_id}) {
        const admin::NamedMessage found = admin::find_message(store, Queue::outbox, name);
        ASSERT_TRUE(found.message.has_value());
        EXPECT_EQ(found.message->id, id);
        EXPECT_EQ(found.message->payload, "");
        EXPECT_EQ(
            admin::find_message(store, Queue::outbox, name, {.payload = true}).message->payload,
            "12");
    }
    const admin::NamedMessage nobody = admin::find_message(store, Queue::outbox, "nobody");
    EXPECT_FALSE(nobody.message || nobody.several);
}

TEST_F(AdminTest, JsonShowsThePayloadOnlyIfAskedFor) {
    const Message message = get(put("a"));
    EXPECT_THAT(admin::json_of(message), Not(HasSubstr(R"("payload":)")));
    EXPECT_THAT(admin::json_of(message, admin::Payload::shown), HasSubstr(R"("payload":12)"));
}

TEST_F(AdminTest, ExplainsWhatAReadyMessageWaitsFor) {
    const WorkItemId id = put("a");
    EXPECT_EQ(explain(id).reason, Reason::unclaimed);
    const auto nowhere = [](const Message&) { return false; };
    EXPECT_EQ(admin::explain(store, get(id), nowhere).reason, Reason::no_route);
    store.pause_topic("a");
    EXPECT_EQ(explain(id).reason, Reason::paused);
    EXPECT_THAT(admin::sentence_of(explain(id)), HasSubstr("'postroom resume a' lets it go"));
    store.resume_topic("a");
    settle(claim(), {.outcome = Outcome::abandon, .error = "HTTP 503", .delay = 1min});
    EXPECT_EQ(explain(id).reason, Reason::retries_later);
    EXPECT_EQ(admin::sentence_of(explain(id)), "failed 1 time, tried again in 1m: HTTP 503");
    clock.advance(1min);
    settle(claim(), {.outcome = Outcome::release, .delay = 1min});
    EXPECT_EQ(explain(id).reason, Reason::retries_later) << "it failed before";

    NewMessage later{.topic = "a", .payload = "{}"};
    later.due_time = memory.now() + 1h;
    EXPECT_EQ(explain(put(later)).reason, Reason::not_due);
    const WorkItemId released = put("b");
    settle(claim(), {.outcome = Outcome::release, .delay = 1min});
    EXPECT_EQ(explain(released).reason, Reason::given_back);
}

TEST_F(AdminTest, ExplainsWhoHasAMessageAndWhatBecameOfIt) {
    const WorkItemId id = put("a");
    const std::vector<Message> claimed = claim();
    EXPECT_EQ(explain(id).reason, Reason::delivering);
    EXPECT_THAT(admin::sentence_of(explain(id)), HasSubstr(worker.to_string()));
    Message stale = get(id);
    clock.advance(31s);
    EXPECT_EQ(admin::explain(store, stale).reason, Reason::worker_gone);
    settle(claim(), {});
    EXPECT_EQ(explain(id).reason, Reason::delivered);
    const WorkItemId dead = put_dead(1, "no such customer").front();
    EXPECT_EQ(explain(dead).reason, Reason::dead);
    EXPECT_THAT(admin::sentence_of(explain(dead)), HasSubstr(": no such customer; 'postroom redr"));
}

TEST_F(AdminTest, ExplainsWhoOfItsKeyKeepsAMessageBack) {
    const WorkItemId first = put_keyed("k");
    const WorkItemId second = put_keyed("k");
    EXPECT_EQ(explain(first).reason, Reason::unclaimed);
    EXPECT_EQ(explain(second).reason, Reason::behind_waiting);
    EXPECT_EQ(explain(second).ahead->id, first);
    const std::vector<Message> claimed = claim();
    EXPECT_EQ(explain(second).reason, Reason::behind_delivering);
    settle(claimed, {.outcome = Outcome::fail, .error = "broken"});
    EXPECT_EQ(explain(second).reason, Reason::behind_blocking);
    EXPECT_THAT(admin::sentence_of(explain(second)), HasSubstr("held back: " + first.to_string() +
                                                               " of the same ordering key goes "
                                                               "first and is dead: broken"));
}

// Goal: what an explanation costs does not grow with the backlog. Method: every question to the
// store is for one message at most, and there are no more of them with many messages in the way.
TEST_F(AdminTest, AnExplanationAsksForOneMessageAtATime) {
    for (int i = 0; i < 2000; ++i) put_keyed("other");
    put_keyed("k");
    const Message last = get(put_keyed("k"));
    store.queries.clear();
    EXPECT_EQ(admin::explain(store, last).reason, Reason::behind_waiting);
    EXPECT_LE(store.queries.size(), 2U);
    for (const Query& query : store.queries) {
        EXPECT_EQ(query.limit, 1U);
        EXPECT_EQ(query.ordering_key, "k");
        EXPECT_FALSE(query.payloads);
    }
}

TEST_F(AdminTest, NamedMessagesAreAllCheckedBeforeOneIsTouched) {
    const WorkItemId dead = put_dead(1).front();
    const WorkItemId ready = put("a");
    const auto chosen = [&](Change change, const std::vector<std::string>& names) {
        return admin::choose_named(store, Queue::outbox, change, names);
    };
    const admin::NamedMessages refused =
        chosen(Change::redrive, {dead.to_string(), ready.to_string()});
    EXPECT_THAT(refused.ids, SizeIs(0));
    ASSERT_TRUE(refused.refusal.has_value());
    EXPECT_EQ(refused.refusal->why, admin::Refusal::Why::wrong_state);
    EXPECT_EQ(refused.refusal->id, ready.to_string());
    EXPECT_EQ(refused.refusal->state, State::ready);
    EXPECT_EQ(chosen(Change::redrive, {"nobody"}).refusal->why, admin::Refusal::Why::unknown);
    EXPECT_THAT(chosen(Change::discard, {dead.to_string(), ready.to_string()}).ids,
                ElementsAre(dead, ready));
    EXPECT_EQ(get(dead).state, State::dead);
    const admin::BulkResult done = admin::change_named(
        store, Queue::outbox, Change::redrive, chosen(Change::redrive, {dead.to_string()}).ids);
    EXPECT_EQ(done.changed, 1U);
    EXPECT_EQ(get(dead).state, State::ready);
}

TEST_F(AdminTest, AllThatMatchAreChangedInBatchesAndTold) {
    put_dead(1200, "HTTP 503");
    const std::vector<WorkItemId> others = put_dead(3, "no such customer");
    std::vector<std::uint64_t> told;
    const admin::BulkResult result = admin::change_matching(
        store, Queue::outbox, Change::redrive, {.error_part = "503"},
        {.progress = [&](std::uint64_t changed) { told.push_back(changed); }});
    EXPECT_EQ(result.matched, 1200U);
    EXPECT_EQ(result.changed, 1200U);
    EXPECT_FALSE(result.stopped);
    EXPECT_THAT(told, ElementsAre(500, 1000, 1200));
    EXPECT_EQ(memory.counts(Queue::outbox).dead, 3U);
    EXPECT_EQ(admin::json_of(Change::redrive, result, false),
              R"({"matched":1200,"redriven":1200,"dry_run":false})");
    const admin::BulkResult discarded =
        admin::change_matching(store, Queue::outbox, Change::discard, {});
    EXPECT_EQ(discarded.changed, 3U) << "the dead ones, when no state is named";
    EXPECT_EQ(store.discarded, others);
}

// Goal: what dies after somebody has agreed to a number is not discarded with it.
TEST_F(AdminTest, NoMoreIsChangedThanSomebodyAgreedTo) {
    put_dead(700);
    const admin::BulkResult result =
        admin::change_matching(store, Queue::outbox, Change::discard, {},
                               {.at_most = 600, .progress = [&](std::uint64_t) { put_dead(50); }});
    EXPECT_EQ(result.changed, 600U);
    EXPECT_EQ(store.discarded.size(), 600U);
}

TEST_F(AdminTest, AStopEndsABulkChangeAfterItsBatch) {
    put_dead(1200);
    std::stop_source stop;
    const admin::BulkResult result = admin::change_matching(
        store, Queue::outbox, Change::redrive, {},
        {.stop = stop.get_token(), .progress = [&](std::uint64_t) { stop.request_stop(); }});
    EXPECT_TRUE(result.stopped);
    EXPECT_EQ(result.changed, 500U);
    EXPECT_EQ(memory.counts(Queue::outbox).dead, 700U);
    // The same call goes on where that one was.
    EXPECT_EQ(admin::change_matching(store, Queue::outbox, Change::redrive, {}).changed, 700U);
}

// A message a second: without the stop all of them would be changed.
TEST_F(AdminTest, AStopEndsTheWaitOfASlowBulkChange) {
    put_dead(3);
    std::stop_source stop;
    const admin::BulkResult result = admin::change_matching(
        store, Queue::outbox, Change::redrive, {},
        {.per_second = 1, .stop = stop.get_token(), .progress = [&](std::uint64_t) {
             stop.request_stop();
         }});
    EXPECT_EQ(result.changed, 1U);
    EXPECT_TRUE(result.stopped);
}

TEST_F(AdminTest, WhatMayNotBeChangedIsNoFilter) {
    EXPECT_THROW(admin::change_filter(Change::redrive, {.state = State::ready}),
                 std::invalid_argument);
    EXPECT_THROW(admin::change_filter(Change::discard, {.state = {State::dead, State::done}}),
                 std::invalid_argument);
    EXPECT_EQ(admin::change_filter(Change::discard, {.state = State::ready}).state,
              StateSet(State::ready));
}

TEST_F(AdminTest, DiscardingNeedsAStoreThatCan) {
    put_dead(1);
    ForwardingStore bare(memory);
    EXPECT_THROW(admin::change_matching(bare, Queue::outbox, Change::discard, {}), Error);
}

TEST_F(AdminTest, PausingAndResumingTellWhatTheyChanged) {
    const admin::PauseChange dry = admin::set_paused(store, "order.placed", true, true);
    EXPECT_FALSE(dry.changed() || dry.paused());
    EXPECT_TRUE(admin::set_paused(store, "order.placed", true).changed());
    EXPECT_TRUE(admin::pause_of(admin::paused_topics(store), "order.placed").has_value());
    const admin::PauseChange again = admin::set_paused(store, "order.placed", true);
    EXPECT_TRUE(again.paused() && !again.changed());
    const admin::PauseChange mistyped = admin::set_paused(store, "ordre.placed", false);
    EXPECT_FALSE(mistyped.changed());
    EXPECT_EQ(mistyped.nearest, "order.placed");
    EXPECT_TRUE(admin::set_paused(store, "order.placed", false).changed());
    EXPECT_THAT(admin::paused_topics(store), SizeIs(0));
}

TEST_F(AdminTest, APatternHoldsBackEveryTopicThatItMatches) {
    EXPECT_TRUE(admin::set_paused(store, "order.*", true).changed());
    const WorkItemId held = put("order.placed");
    const WorkItemId open = put("orders");
    EXPECT_EQ(explain(held).reason, Reason::paused);
    EXPECT_THAT(admin::sentence_of(explain(held)), HasSubstr("'postroom resume \"order.*\"'"));
    EXPECT_NE(explain(open).reason, Reason::paused);
    const admin::MessagePage page = admin::list_messages(store, Queue::outbox, {});
    ASSERT_THAT(page.messages, SizeIs(2));
    EXPECT_TRUE(page.messages[0].paused);
    EXPECT_FALSE(page.messages[1].paused);
    EXPECT_TRUE(admin::set_paused(store, "order.*", false).changed());
    EXPECT_NE(explain(held).reason, Reason::paused);
}

TEST_F(AdminTest, AResumedTopicMayBeHeldBackByAPattern) {
    admin::set_paused(store, "order.*", true);
    admin::set_paused(store, "order.placed", true);
    const admin::PauseChange own = admin::set_paused(store, "order.placed", false);
    EXPECT_TRUE(own.changed() && own.paused());
    EXPECT_EQ(own.held_by, "order.*");
    EXPECT_THAT(admin::json_of(own), HasSubstr(R"("paused":true,"paused_by":"order.*")"));
    EXPECT_FALSE(admin::set_paused(store, "order.placed", false).changed());
}

std::string health_of(const std::vector<Finding>& findings, const std::string& check) {
    for (const Finding& finding : findings)
        if (finding.check == check) return std::string(admin::health_word(finding.health));
    return "not checked";
}

TEST_F(AdminTest, HealthChecksLookAtClockQueuesKeysAndDatabase) {
    EXPECT_EQ(health_of(admin::check_store(store, clock), "clock"), "ok");
    EXPECT_EQ(health_of(admin::check_store(store, clock), "outbox"), "ok");
    EXPECT_EQ(health_of(admin::check_store(store, clock), "durability"), "bad");
    EXPECT_EQ(health_of(admin::check_store(memory, clock), "durability"), "not checked");
    ManualClock ahead;
    ahead.advance(10s);
    EXPECT_EQ(health_of(admin::check_store(store, ahead), "clock"), "warning");
    put("a");
    clock.advance(10min);
    EXPECT_EQ(health_of(admin::check_store(store, clock), "outbox"), "warning") << "it lags";
    EXPECT_EQ(health_of(admin::check_store(store, clock), "outbox keys"), "not checked");
    settle(claim(), {});
    put_keyed("k");
    put_keyed("k");
    settle(claim(), {.outcome = Outcome::fail, .error = "x"});
    EXPECT_EQ(health_of(admin::check_store(store, clock), "outbox keys"), "warning");
    store.pause_topic("a");
    EXPECT_EQ(health_of(admin::check_store(store, clock), "paused"), "warning");
    EXPECT_EQ(health_of(admin::check_store(store, clock), "inbox"), "ok");
}

TEST_F(AdminTest, HealthOfTheSchema) {
    EXPECT_EQ(health_of(admin::check_schema({.version = 3}), "schema"), "ok");
    EXPECT_EQ(health_of(admin::check_schema({.version = 3, .pending = {"0004"}}), "schema"), "bad");
    EXPECT_EQ(health_of(admin::check_schema({.version = 9, .newer = true}), "schema"), "warning");
    EXPECT_EQ(health_of(admin::check_schema({.version = 3, .drift = {"x"}}), "schema drift"),
              "warning");
}

TEST_F(AdminTest, RetryNowFindsWhatIsPutOffAndNothingElse) {
    const WorkItemId retrying = put("a");
    settle(claim(), {.outcome = Outcome::abandon, .error = "not now", .delay = 1h});
    put("a");
    put_dead(1);
    const admin::BulkResult result =
        admin::change_matching(store, Queue::outbox, Change::retry_now, {.topic = "a"});
    EXPECT_EQ(result.matched, 1U);
    EXPECT_EQ(result.changed, 1U);
    EXPECT_LE(get(retrying).available_at, clock.now());
    EXPECT_EQ(admin::json_of(Change::retry_now, result, false),
              R"({"matched":1,"retried":1,"dry_run":false})");
    EXPECT_THROW(admin::change_filter(Change::retry_now, {.state = State::dead}),
                 std::invalid_argument);
}

class AdminWorkersTest : public AdminTest {
protected:
    // A dispatcher that found `destination` down three minutes ago.
    WorkerReport report(const std::string& destination, const std::string& error) {
        WorkerReport told{.owner = OwnerToken::generate(),
                          .host = "mail-1",
                          .pid = 7,
                          .version = "1.0",
                          .started = clock.now() - 1h,
                          .last_seen = clock.now(),
                          .circuits = {{.destination = destination,
                                        .error = error,
                                        .since = clock.now() - 3min,
                                        .next_probe = clock.now() + 20s,
                                        .topics = {"order.placed"}}}};
        memory.report_worker(told);
        return told;
    }
};

TEST_F(AdminWorkersTest, ExplainNamesTheDestinationThatIsDown) {
    const WorkItemId held = put("order.placed");
    const WorkItemId free = put("other");
    EXPECT_THAT(admin::sentence_of(explain(held)), HasSubstr("nobody is at work here"));
    report("http://orders.internal", "http://orders.internal: connection refused");
    const admin::Explanation waits = explain(held);
    EXPECT_EQ(waits.reason, Reason::destination_down);
    EXPECT_EQ(
        admin::sentence_of(waits),
        "waits for http://orders.internal: connection refused, down for 3m, next probe in 20s");
    EXPECT_EQ(explain(free).reason, Reason::unclaimed);
    EXPECT_THAT(admin::sentence_of(explain(free)), HasSubstr("is the relay behind?"));
    clock.advance(20s);
    EXPECT_THAT(admin::sentence_of(explain(held)), HasSubstr("nobody is at work")) << "gone silent";
}

TEST_F(AdminWorkersTest, ExplainTellsWhoDeliversAMessageSinceWhenAndUntilWhen) {
    const WorkItemId id = put("a");
    WorkerReport told = report("elsewhere", "refused");
    const std::vector<Message> claimed =
        memory.claim(Queue::outbox, {.owner = told.owner, .lease = 30s});
    const Instant claimed_at = clock.now();
    clock.advance(4s);
    EXPECT_EQ(admin::leased_at(explain(id)), std::nullopt) << "of an older version";
    told.lease = 30s;
    memory.report_worker(told);
    EXPECT_EQ(admin::leased_at(explain(id)), claimed_at);
    EXPECT_EQ(admin::sentence_of(explain(id)),
              "being delivered by " + told.owner.to_string() +
                  " on mail-1 (process 7), whose lease was taken or renewed 4s ago and runs for "
                  "another 26s");
    const std::array leases{*claimed.at(0).lease};
    EXPECT_TRUE(memory.extend(Queue::outbox, leases, 30s).at(0));
    EXPECT_EQ(admin::leased_at(explain(id)), clock.now()) << "renewed";
    memory.forget_worker(told.owner, Queue::outbox);
    EXPECT_EQ(admin::sentence_of(explain(id)), "being delivered by " + told.owner.to_string() +
                                                   ", whose lease runs for another 30s");
}

TEST_F(AdminWorkersTest, AListNamesTheDestinationThatAMessageWaitsFor) {
    report("crm", "refused");
    const WorkItemId waiting = put("order.placed");
    put("met.by.nobody");
    NewMessage later{.topic = "order.placed", .payload = "1"};
    later.due_time = clock.now() + 1h;
    put(later);
    const auto waiting_for = [&] {
        std::vector<std::string> destinations;
        for (const admin::ListedMessage& each :
             admin::list_messages(store, Queue::outbox, {.limit = 10}).messages)
            destinations.push_back(each.waits_for ? each.waits_for->destination : "");
        return destinations;
    };
    EXPECT_THAT(waiting_for(), ElementsAre("crm", "", ""))
        << "one has not been met, one is not due";
    const admin::MessageDetail detail = admin::detail_of(store, get(waiting));
    EXPECT_THAT(admin::json_of(detail),
                HasSubstr(R"("waits_for":{"destination":"crm","error":"refused","since":)"));
    memory.pause_topic("order.*");
    EXPECT_THAT(waiting_for(), ElementsAre("", "", "")) << "the pause comes first";
}

TEST_F(AdminWorkersTest, AnErrorDoesNotRepeatItsDestination) {
    for (const std::string error : {"http://a: gone", "http://a gone", "gone"})
        EXPECT_EQ(admin::without_destination(error, "http://a"), "gone");
    EXPECT_EQ(admin::without_destination("http://ab: gone", "http://a"), "http://ab: gone");
    EXPECT_EQ(admin::without_destination(": gone", ""), ": gone");
}

TEST_F(AdminWorkersTest, StatusAndHealthNameEachDestinationOnce) {
    report("crm", "refused");
    WorkerReport later = report("crm", "timed out");
    later.circuits.front().since = clock.now() - 5min;
    later.circuits.front().next_probe = clock.now() + 40s;
    later.circuits.front().topics = {"b"};
    memory.report_worker(later);
    const admin::QueueStatus status = admin::queue_status(store, Queue::outbox);
    EXPECT_THAT(status.workers, SizeIs(2));
    ASSERT_THAT(status.down, SizeIs(1));
    EXPECT_EQ(admin::sentence_of(status.down.front(), status.now),
              "crm: timed out, down for 5m, next probe in 20s");
    EXPECT_THAT(status.down.front().topics, ElementsAre("b", "order.placed"));
    EXPECT_THAT(admin::json_of(status),
                AllOf(HasSubstr(R"("workers":2)"), HasSubstr(R"("down":[{"destination":"crm")")));
    EXPECT_THAT(admin::check_store(store, clock),
                testing::Contains(
                    AllOf(testing::Field(&Finding::check, "outbox workers"),
                          testing::Field(&Finding::health, Finding::Health::warning),
                          testing::Field(&Finding::what, HasSubstr("wait for crm: timed out")))));
    EXPECT_THAT(admin::queue_status(store, Queue::inbox).workers, SizeIs(0));
}

// A command that is shown is copied.
TEST_F(AdminTest, ATopicInACommandIsQuotedForTheShell) {
    for (const auto& [topic, word] :
         std::vector<std::pair<std::string, std::string>>{{"order.placed", "order.placed"},
                                                          {"order.*", "\"order.*\""},
                                                          {"two words", "\"two words\""},
                                                          {"a;reboot", "\"a;reboot\""},
                                                          {"$(reboot)", "'$(reboot)'"},
                                                          {"it's $HOME", "'it'\\''s $HOME'"}}) {
        admin::set_paused(store, topic, true);
        EXPECT_THAT(admin::sentence_of(explain(put(topic == "order.*" ? "order.paid" : topic))),
                    HasSubstr("'postroom resume " + word + "' lets it go"));
    }
}

TEST_F(AdminTest, ADetailHasTheFailedAttempts) {
    const WorkItemId id = put("a");
    settle(claim(), {.outcome = Outcome::fail,
                     .error = "HTTP 400",
                     .destination = "http://a",
                     .claimed_at = clock.now(),
                     .took = 1250ms});
    const admin::MessageDetail detail = admin::detail_of(store, get(id));
    EXPECT_THAT(admin::json_of(detail),
                AllOf(HasSubstr(R"("died_at":)"), HasSubstr(R"("attempts":[{"at":)"),
                      HasSubstr(R"("destination":"http://a","outcome":"fail","error":"HTTP 400")"),
                      HasSubstr(R"("claimed_at":)"), HasSubstr(R"("took_seconds":1.25})")));
    EXPECT_THAT(admin::sentence_of(explain(id)), HasSubstr("after 1 failed attempt"));
}

TEST_F(AdminTest, ChangesAreRecordedInTheNameOfWhoMadeThem) {
    put_dead(2);
    const Query filter = admin::change_filter(Change::redrive, {.topic = "t"});
    const auto redrive = [&](Store& of) {
        admin::AuditTrail trail(of, {.who = "ann@mail-1",
                                     .what = "redrive",
                                     .target = admin::target_of(Queue::outbox, filter)});
        admin::change_matching(of, Queue::outbox, Change::redrive, filter,
                               {.begins = [&] { trail.begin(); },
                                .progress = [&](std::uint64_t count) { trail.changed(count); }});
        trail.end("done");
    };
    redrive(store);
    redrive(store);
    admin::record(store, "bob@mail-1", admin::set_paused(store, "t", true));
    admin::record(store, "bob@mail-1", admin::set_paused(store, "t", true));
    const std::vector<AuditEntry> log = memory.audit_log(0, 10);
    ASSERT_THAT(log, SizeIs(3)) << "what changed nothing is not recorded";
    EXPECT_EQ(log[0].what, "pause");
    EXPECT_EQ(log[0].target, "topic 't'");
    EXPECT_EQ(log[1].who, "ann@mail-1");
    EXPECT_EQ(log[1].what, "redrive");
    EXPECT_EQ(log[1].target, "outbox topic='t' state='dead'");
    EXPECT_EQ(log[1].count, 2U);
    EXPECT_EQ(log[1].outcome, "done");
    EXPECT_EQ(log[2].outcome, "begun");
    put_dead(1);
    ForwardingStore bare(memory);
    redrive(bare);
    EXPECT_THAT(memory.audit_log(0, 10), SizeIs(3));
}

TEST_F(AdminTest, AChangeThatFailsIsRecordedToo) {
    try {
        admin::AuditTrail trail(store, {.who = "ann", .what = "purge", .target = "outbox"});
        trail.begin();
        trail.changed(7);
        throw std::runtime_error("the server has gone");
    } catch (const std::runtime_error&) {
    }
    const std::vector<AuditEntry> log = memory.audit_log(0, 10);
    ASSERT_THAT(log, SizeIs(2));
    EXPECT_EQ(log[0].outcome, "failed");
    EXPECT_EQ(log[0].count, 7U);
}

TEST_F(AdminTest, OfManyIdsTheAuditLogTellsTheFirst) {
    const std::vector<WorkItemId> ids = put_dead(12);
    EXPECT_THAT(
        admin::target_of(Queue::outbox, {.ids = ids}),
        AllOf(HasSubstr("outbox " + ids[0].to_string()),
              HasSubstr(ids[9].to_string() + " and 2 more"), Not(HasSubstr(ids[10].to_string()))));
}

}  // namespace
}  // namespace postroom::test::admin_test
