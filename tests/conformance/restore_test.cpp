// The restore guard: a database that was restored or copied is not claimed from until an operator
// has decided.
#include "admin/restore.hpp"

#include "conformance/law.hpp"
#include "postroom/restore.hpp"

namespace postroom::test::restore {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Field;
using testing::Not;

RestoreControls& guard_of(Store& store) { return *restore_controls_of(store); }

TEST_P(RestoreLaw, AStoreWithAGuardIsNamedAndItsEpochRises) {
    EXPECT_EQ(guard_of(store()).home().incarnation, "");
    const TempDir memory;
    const std::unique_ptr<Store> worker = guarded(memory);
    put_many(3);
    EXPECT_THAT(claim_from(*worker), SizeIs(3));
    const StoreHome first = guard_of(*worker).home();
    EXPECT_THAT(first.incarnation, SizeIs(36));
    EXPECT_THAT(first.here, Not(IsEmpty()));
    EXPECT_EQ(first.place, first.here);
    claim_from(*worker);
    const StoreHome second = guard_of(*worker).home();
    EXPECT_EQ(second.incarnation, first.incarnation);
    EXPECT_GT(second.epoch, first.epoch);
    EXPECT_FALSE(second.hold);
}

TEST_P(RestoreLaw, AHeldStoreTakesMessagesAndGivesNone) {
    const TempDir memory;
    const std::unique_ptr<Store> worker = guarded(memory);
    guard_of(store()).hold_delivery("the night's backup was put back");
    put();
    EXPECT_THAT(claim_refused(*worker), AllOf(HasSubstr("delivery is held: the night's backup"),
                                              HasSubstr("postroom restore status")));
    // What its handlers wrote to this database went back with it.
    inbox().enqueue({.topic = "t", .source = "s", .message_id = "m", .payload = "p"});
    EXPECT_THAT(worker->claim(Queue::inbox, {.owner = me}), SizeIs(1));
    const StoreHome held = guard_of(store()).home();
    ASSERT_TRUE(held.hold);
    EXPECT_LE(held.hold->since, now());

    guard_of(store()).end_hold("continue", "ann@mail-1");
    EXPECT_THAT(claim_from(*worker), SizeIs(1));
    const StoreHome after = guard_of(store()).home();
    EXPECT_FALSE(after.hold);
    EXPECT_NE(after.incarnation, held.incarnation);
    ASSERT_TRUE(after.decided);
    EXPECT_EQ(after.decided->what, "continue");
    EXPECT_EQ(after.decided->who, "ann@mail-1");
}

TEST_P(RestoreLaw, AStoreOpenedWithoutAGuardIsNotHeld) {
    guard_of(store()).hold_delivery("somebody said so");
    put();
    EXPECT_THAT(claim(), SizeIs(1));
}

// Goal: a database that lies elsewhere than it says is a copy.
// Method: what a dump brings along is the row; here it is written as another place would have it.
TEST_P(RestoreLaw, ADatabaseAtAnotherPlaceIsHeldUntilThatIsItsHome) {
    const TempDir memory;
    claim_from(*guarded(memory));
    sql("UPDATE " + table("outbox_home") + " SET place = 'somewhere else'");
    put();
    const TempDir of_another_relay;
    EXPECT_THAT(claim_refused(*guarded(of_another_relay)),
                HasSubstr("it was at somewhere else, and is at"));
    EXPECT_TRUE(guard_of(store()).home().hold) << "others see it too";
    guard_of(store()).end_hold("continue", "ann");
    EXPECT_THAT(claim_from(*guarded(of_another_relay)), SizeIs(1));
    claim_from(*guarded(memory));
}

// Goal: a restore to the same place is noticed by whoever remembers, and by nobody else.
// Method: the epoch is put back, as a backup would.
TEST_P(RestoreLaw, ADatabaseThatWentBackInTimeIsHeldByThoseWhoRemember) {
    const TempDir memory;
    for (int i = 0; i < 3; ++i) claim_from(*guarded(memory));
    const StoreHome before = guard_of(store()).home();
    ASSERT_GE(before.epoch, 3U);
    sql("UPDATE " + table("outbox_home") + " SET epoch = 1");
    put();
    {
        const TempDir of_another_relay;
        EXPECT_THAT(claim_from(*guarded(of_another_relay)), SizeIs(1));
        sql("UPDATE " + table("outbox_home") + " SET epoch = 1");
    }
    put();
    EXPECT_THAT(claim_refused(*guarded(memory)), HasSubstr("has gone back in time"));
    guard_of(store()).end_hold("continue", "ann");
    EXPECT_THAT(claim_from(*guarded(memory)), SizeIs(1));

    // The same backup once more.
    sql("UPDATE " + table("outbox_home") + " SET epoch = 1, incarnation = '" + before.incarnation +
        "'");
    EXPECT_THAT(claim_refused(*guarded(memory)), HasSubstr("has gone back in time"));
}

TEST_P(RestoreLaw, AnEpochCountsOnlyOnceItHasStoodForAWhile) {
    const TempDir memory;
    const auto usual = [&] {
        return sql_sandbox().reopen_with(
            {.restore_guard = {.on = true, .state_dir = memory.path().string()}});
    };
    claim_from(*usual());
    claim_from(*usual());
    ASSERT_GE(guard_of(store()).home().epoch, 2U);
    // A standby that lacks the last seconds takes over.
    sql("UPDATE " + table("outbox_home") + " SET epoch = 1");
    put();
    EXPECT_THAT(claim_from(*usual()), SizeIs(1));
}

TEST_P(RestoreLaw, DiscardSetsAsideWhatWaitedBeforeTheHoldAndRequeueBringsItBack) {
    put_many(3, {.topic = "old"});
    put({.topic = "old", .due_time = now() + std::chrono::hours{1}});
    put({.topic = "old", .ordering_key = "k"});
    pass(std::chrono::milliseconds{5});
    admin::hold_delivery(store(), "ann");
    pass(std::chrono::milliseconds{5});
    put({.topic = "new", .ordering_key = "k"});

    EXPECT_EQ(admin::consider(store(), {.answer = admin::RestoreAnswer::discard}).matched, 5U);
    const admin::RestoreResult discarded =
        admin::decide(store(), {.answer = admin::RestoreAnswer::discard, .who = "ann"});
    EXPECT_EQ(discarded.changed, 5U);
    EXPECT_TRUE(discarded.goes_on());
    EXPECT_FALSE(guard_of(store()).home().hold);
    const std::vector<Message> dead = store().find(Queue::outbox, {.state = State::dead});
    ASSERT_THAT(dead, SizeIs(5));
    EXPECT_THAT(dead, Each(Field(&Message::dead_reason, DeadReason::restored)));
    EXPECT_THAT(claim(), SizeIs(1)) << "they block nobody";

    const admin::RestoreResult requeued =
        admin::decide(store(), {.answer = admin::RestoreAnswer::requeue, .who = "ann"});
    EXPECT_EQ(requeued.changed, 5U);
    EXPECT_EQ(store().count(Queue::outbox, {.topic = "old", .state = State::ready}), 5U);
    std::vector<std::string> recorded;
    for (const AuditEntry& entry : controls_of(store())->audit_log(0, 100))
        recorded.push_back(entry.what + " " + entry.outcome);
    EXPECT_THAT(recorded, testing::ElementsAre("restore requeue done", "restore requeue begun",
                                               "restore discard done", "restore discard begun",
                                               "restore hold done", "restore hold begun"));
}

TEST_P(RestoreLaw, WhereSomebodyElseHasDecidedNothingIsSetAside) {
    put_many(3);
    const admin::RestoreResult discarded =
        admin::decide(store(), {.answer = admin::RestoreAnswer::discard, .who = "ann"});
    EXPECT_FALSE(discarded.was_held);
    EXPECT_EQ(discarded.changed, 0U);
    EXPECT_THAT(claim(), SizeIs(3));
}

TEST_P(RestoreLaw, DiscardLeavesTheHoldWhileAWorkerHoldsSomethingFromBefore) {
    put();
    const Message leased = claim_one();
    pass(std::chrono::milliseconds{5});
    admin::hold_delivery(store(), "ann");
    const admin::RestoreRequest discard{.answer = admin::RestoreAnswer::discard, .who = "ann"};
    const admin::RestoreResult first = admin::decide(store(), discard);
    EXPECT_EQ(first.left, 1U);
    EXPECT_TRUE(guard_of(store()).home().hold);
    const std::vector<Settlement> back{{.lease = *leased.lease, .outcome = Outcome::release}};
    store().settle(nullptr, Queue::outbox, back);
    EXPECT_EQ(admin::decide(store(), discard).changed, 1U);
    EXPECT_FALSE(guard_of(store()).home().hold);
}

}  // namespace
}  // namespace postroom::test::restore
