// Transactions with SQL of the caller's own in them, and transactions that are not ours.
#include <atomic>
#include <thread>

#include "conformance/law.hpp"
#include "postroom/dispatcher.hpp"
#include "queue/hot_path.hpp"

namespace postroom::test::sql_transactions {
namespace {

const NewMessage message{.topic = "t", .payload = "p"};

void run(TxContext& tx, const std::string& text) { tx.execute({.sql = text, .params = {}}); }

// What a message says that its handler has killed.
std::string error_of_dead(const Outbox& outbox, Routes& routes) {
    const std::optional<Processed> processed = process_one(outbox, routes);
    return processed && processed->settled == Settled::dead ? processed->error : "not dead";
}

TEST_P(SqlTransactionLaw, OBX_003_TheMessageAndTheChangeItAnnouncesCommitTogether) {
    sql_sandbox();
    sql("CREATE TABLE orders (id integer)");
    for (const bool commit : {true, false}) {
        const std::unique_ptr<Transaction> tx = store().begin();
        run(*tx, "INSERT INTO orders VALUES (1)");
        outbox().enqueue(*tx, message);
        if (commit) tx->commit();
    }
    EXPECT_EQ(sql("SELECT count(*) FROM orders"), (SqlRows{{"1"}}));
    EXPECT_THAT(store().find(Queue::outbox, {}), SizeIs(1));
}

TEST_P(SqlTransactionLaw, ASavepointThatIsRolledBackTakesItsMessagesAlong) {
    const std::unique_ptr<Transaction> tx = store().begin();
    outbox().enqueue(*tx, {.topic = "kept", .payload = "p"});
    run(*tx, sql_sandbox().savepoint("inner_one"));
    outbox().enqueue(*tx, {.topic = "dropped", .payload = "p", .idempotency_key = "k"});
    run(*tx, sql_sandbox().roll_back_to("inner_one"));
    EXPECT_FALSE(outbox()
                     .enqueue(*tx, {.topic = "again", .payload = "p", .idempotency_key = "k"})
                     .already_existed);
    tx->commit();
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "kept"}), SizeIs(1));
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "again"}), SizeIs(1));
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "dropped"}), IsEmpty());
}

// Goal: nobody is told that a transaction was committed which somebody had ended before, and what
// it wrote is not handed over. Method: end it on its own connection, commit; a later message shows
// that the handler is at work.
TEST_P(SqlTransactionLaw, ACommitOfATransactionThatWasEndedBeforeIsRefused) {
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), {.lease = long_lease});
    dispatcher.on("t", [&](const Message&) { ++calls; });
    dispatcher.start();
    bool told = false;
    const std::unique_ptr<Transaction> tx = store().begin();
    tx->after_rollback([&] { told = true; });
    outbox().enqueue(*tx, message);
    run(*tx, "ROLLBACK");
    EXPECT_EQ(kind_thrown([&] { tx->commit(); }), ErrorKind::misuse);
    EXPECT_TRUE(told);
    EXPECT_FALSE(tx->in_transaction());
    const EnqueueResult later = outbox().enqueue(message);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (outbox().get(later.id)->state != State::done &&
           std::chrono::steady_clock::now() < give_up)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    EXPECT_EQ(calls, 1);
}

// What is open then is another transaction, in which nothing of the first stands. Not every engine
// knows these.
TEST_P(SqlTransactionLaw, ATransactionThatWasChainedToAnotherIsNotCommitted) {
    for (const std::string end : {"ROLLBACK AND CHAIN", "commit and chain", "/* x */ ROLLBACK"}) {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().enqueue(*tx, {.topic = "before", .payload = "p"});
        if (thrown([&] { run(*tx, end); }) != "nothing") continue;
        EXPECT_FALSE(tx->in_transaction()) << end;
        EXPECT_EQ(kind_thrown([&] { outbox().enqueue(*tx, {.topic = "after", .payload = "p"}); }),
                  ErrorKind::misuse)
            << end;
        EXPECT_EQ(kind_thrown([&] { tx->commit(); }), ErrorKind::misuse) << end;
    }
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "after"}), IsEmpty());
    const std::unique_ptr<Transaction> next = store().begin();
    outbox().enqueue(*next, message);
    run(*next, sql_sandbox().savepoint("a"));
    run(*next, sql_sandbox().roll_back_to("a"));
    next->commit();
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "t"}), SizeIs(1));
}

// Goal: one that was ended on the native handle is not taken for the one begun there afterwards.
// Method: both ways to end it, with and without a message in the second one.
TEST_P(SqlTransactionLaw, ATransactionThatWasReplacedOnTheNativeHandleIsNotCommitted) {
    SqlSandbox& sandbox = sql_sandbox();
    sql("CREATE TABLE orders (id integer)");
    for (const char* const end : {"ROLLBACK", "COMMIT"}) {
        for (const bool writes : {false, true}) {
            bool told = false;
            const std::unique_ptr<Transaction> tx = store().begin();
            tx->after_commit([&] { told = true; });
            const SqlSandbox::RunNatively run_natively = sandbox.native_handle(*tx);
            run_natively("INSERT INTO orders VALUES (1)");
            outbox().enqueue(*tx, {.topic = end, .payload = "p"});
            run_natively(end);
            run_natively(sandbox.begin());
            if (writes) outbox().enqueue(*tx, {.topic = "after", .payload = "p"});
            EXPECT_EQ(kind_thrown([&] { tx->commit(); }), ErrorKind::misuse) << end;
            EXPECT_FALSE(told);
        }
    }
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "ROLLBACK"}), IsEmpty());
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "COMMIT"}), SizeIs(2));
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "after"}), IsEmpty());
}

TEST_P(SqlTransactionLaw, WhatIsDoneOnTheNativeHandleIsCommitted) {
    SqlSandbox& sandbox = sql_sandbox();
    sql("CREATE TABLE orders (id integer)");
    for (int i = 1; i <= 2; ++i) {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().enqueue(*tx, message);
        const SqlSandbox::RunNatively run_natively = sandbox.native_handle(*tx);
        run_natively(sandbox.savepoint("a"));
        run_natively("INSERT INTO orders VALUES (1)");
        run_natively(sandbox.roll_back_to("a"));
        outbox().enqueue(*tx, message);
        tx->commit();
        EXPECT_THAT(store().find(Queue::outbox, {}), SizeIs(2 * i));
    }
}

// Goal: the mark by which a replaced transaction is noticed does not go with a savepoint of the
// user's. Method: one that is older than the handle, undone and released.
TEST_P(SqlTransactionLaw, ASavepointFromBeforeTheNativeHandleEndsNothing) {
    SqlSandbox& sandbox = sql_sandbox();
    sql("CREATE TABLE orders (id integer)");
    const std::unique_ptr<Transaction> tx = store().begin();
    run(*tx, sandbox.savepoint("older"));
    const SqlSandbox::RunNatively run_natively = sandbox.native_handle(*tx);
    run_natively("INSERT INTO orders VALUES (1)");
    run_natively(sandbox.roll_back_to("older"));
    outbox().enqueue(*tx, message);
    run(*tx, sandbox.release("older"));
    tx->commit();
    EXPECT_EQ(sql("SELECT count(*) FROM orders"), (SqlRows{{"0"}}));
    EXPECT_THAT(store().find(Queue::outbox, {}), SizeIs(1));
}

// Whatever it says afterwards, its effect may stand already: another attempt would repeat it.
TEST_P(SqlTransactionLaw, AHandlerThatEndsItsTransactionAndThrowsEndsDead) {
    sql_sandbox();
    sql("CREATE TABLE effects (n integer)");
    Routes routes;
    routes.in_transaction("t", [&](const Message&, HandlerContext& context) {
        run(context.transaction(), "INSERT INTO effects VALUES (1)");
        run(context.transaction(), "COMMIT");
        throw std::runtime_error("and then the mail server was away");
    });
    outbox().enqueue(message);
    EXPECT_THAT(error_of_dead(outbox(), routes),
                testing::AllOf(testing::HasSubstr("ended the transaction"),
                               testing::HasSubstr("the mail server was away")));
    EXPECT_EQ(sql("SELECT count(*) FROM effects"), (SqlRows{{"1"}}));
}

TEST_P(SqlTransactionLaw, AHandlerThatThrowsWithoutEndingItsTransactionIsTriedAgain) {
    sql_sandbox();
    sql("CREATE TABLE effects (n integer)");
    Routes routes;
    routes.in_transaction("t", [&](const Message&, HandlerContext& context) {
        run(context.transaction(), "INSERT INTO effects VALUES (1)");
        throw std::runtime_error("no");
    });
    outbox().enqueue(message);
    EXPECT_EQ(process_one(outbox(), routes)->settled, Settled::ready);
    EXPECT_EQ(sql("SELECT count(*) FROM effects"), (SqlRows{{"0"}}));
}

// Its effect may stand already: another attempt would repeat it.
TEST_P(SqlTransactionLaw, AHandlerThatEndsItsTransactionEndsDead) {
    sql_sandbox();
    sql("CREATE TABLE effects (n integer)");
    Routes routes;
    routes.in_transaction("t", [&](const Message&, HandlerContext& context) {
        run(context.transaction(), "INSERT INTO effects VALUES (1)");
        run(context.transaction(), "COMMIT");
    });
    outbox().enqueue(message);
    EXPECT_THAT(error_of_dead(outbox(), routes), testing::HasSubstr("ended the transaction"));
    EXPECT_EQ(sql("SELECT count(*) FROM effects"), (SqlRows{{"1"}}));
}

// A savepoint may take it back although the transaction commits.
TEST_P(SqlTransactionLaw, AMessageWrittenWithinASavepointIsNotAtTheTopLevel) {
    const BornLease born{.owner = me, .lease_id = LeaseId(7), .lease = long_lease};
    const auto bear = [&](TxContext* tx, const char* id) {
        NewMessage born_message = message;
        born_message.message_id = MessageId(id);
        return store().enqueue(tx, std::span(&born_message, 1), &born).at(0).top_level;
    };
    EXPECT_TRUE(bear(nullptr, "a"));
    const std::unique_ptr<Transaction> tx = store().begin();
    run(*tx, sql_sandbox().savepoint("inner_one"));
    EXPECT_FALSE(bear(tx.get(), "b"));
    tx->rollback();
    const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
    run(*mine, sql_sandbox().savepoint("inner_one"));
    EXPECT_FALSE(bear(mine.get(), "c"));
}

TEST_P(SqlTransactionLaw, AnEffectAndItsDoneMarkCommitTogether) {
    sql_sandbox();
    sql("CREATE TABLE effects (id text)");
    for (int i = 0; i < 3; ++i) {
        const std::unique_ptr<Transaction> tx = store().begin();
        inbox().once(*tx, {.source = "shop", .message_id = "m"},
                     [&] { run(*tx, "INSERT INTO effects VALUES ('m')"); });
        tx->commit();
    }
    EXPECT_EQ(sql("SELECT count(*) FROM effects"), (SqlRows{{"1"}}));
}

TEST_P(SqlTransactionLaw, OBX_003_ABorrowedTransactionIsCommittedByItsOwnerAlone) {
    sandbox();
    {
        const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
        outbox().enqueue(*mine, message);
        EXPECT_TRUE(mine->in_transaction());
        EXPECT_THAT(store().find(Queue::outbox, {}), IsEmpty());
        run(*mine, "COMMIT");
        EXPECT_FALSE(mine->in_transaction());
    }
    EXPECT_THAT(store().find(Queue::outbox, {}), SizeIs(1));
}

TEST_P(SqlTransactionLaw, ABorrowedTransactionThatIsDroppedLeavesNothing) {
    sandbox();
    {
        const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
        outbox().enqueue(*mine, {.topic = "t", .payload = "p", .idempotency_key = "k"});
        run(*mine, "ROLLBACK");
        EXPECT_EQ(kind_thrown([&] { outbox().enqueue(*mine, message); }), ErrorKind::misuse);
    }
    EXPECT_THAT(store().find(Queue::outbox, {}), IsEmpty());
}

TEST_P(SqlTransactionLaw, ABorrowedTransactionDoesNotReportItsEnd) {
    sandbox();
    const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
    EXPECT_FALSE(mine->reports_end());
    EXPECT_EQ(kind_thrown([&] { mine->after_commit([] {}); }), ErrorKind::misuse);
    EXPECT_EQ(kind_thrown([&] { mine->after_rollback([] {}); }), ErrorKind::misuse);
}

TEST_P(SqlTransactionLaw, OnceWorksInABorrowedTransaction) {
    sandbox();
    for (const bool expected : {true, false}) {
        const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
        EXPECT_EQ(inbox().once(*mine, {.source = "shop", .message_id = "m"}, [] {}), expected);
        run(*mine, "COMMIT");
    }
}

TEST_P(SqlTransactionLaw, ABorrowedTransactionSettles) {
    put();
    const Message claimed = claim_one();
    const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
    EXPECT_THAT(outbox().ack(*mine, leases_of(claimed)), testing::ElementsAre(Settled::done));
    run(*mine, "COMMIT");
    EXPECT_EQ(get(claimed.id).state, State::done);
}

TEST_P(SqlTransactionLaw, ABrokenStatementOfTheCallerIsRejectedWithItsReason) {
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_EQ(kind_thrown([&] { run(*tx, "SELECT * FROM nowhere_to_be_found"); }),
              ErrorKind::rejected);
}

TEST_P(SqlTransactionLaw, ParametersOfEveryKindReachTheDatabase) {
    const SqlSandbox& engine = sql_sandbox();
    sql("CREATE TABLE v (n integer, t text, b " + engine.bytes_type() + ")");
    const std::string places = "(" + engine.placeholder(1) + ", " + engine.placeholder(2) + ", " +
                               engine.placeholder(3) + ")";
    const std::unique_ptr<Transaction> tx = store().begin();
    tx->execute({.sql = "INSERT INTO v VALUES " + places,
                 .params = {std::int64_t{-5}, std::string("t\xC3\xA9xt"), Blob{"\x01"}}});
    tx->execute({.sql = "INSERT INTO v VALUES " + places, .params = {{}, {}, {}}});
    const SqlRows rows =
        tx->execute({.sql = "SELECT n, t, " + engine.byte_count("b") +
                            " FROM v ORDER BY CASE WHEN n IS NULL THEN 1 ELSE 0 END",
                     .params = {}});
    EXPECT_EQ(rows, (SqlRows{{"-5", "t\xC3\xA9xt", "1"}, {{}, {}, {}}}));
}

}  // namespace
}  // namespace postroom::test::sql_transactions
