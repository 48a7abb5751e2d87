// Transactions with SQL of the caller's own in them, and transactions that are not ours.
#include "conformance/law.hpp"

namespace postroom::test::sql_transactions {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const NewMessage message{.topic = "t", .payload = "p"};

void run(TxContext& tx, const std::string& text) { tx.execute({.sql = text, .params = {}}); }

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
    run(*tx, "SAVEPOINT inner_one");
    outbox().enqueue(*tx, {.topic = "dropped", .payload = "p", .idempotency_key = "k"});
    run(*tx, "ROLLBACK TO SAVEPOINT inner_one");
    EXPECT_FALSE(outbox()
                     .enqueue(*tx, {.topic = "again", .payload = "p", .idempotency_key = "k"})
                     .already_existed);
    tx->commit();
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "kept"}), SizeIs(1));
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "again"}), SizeIs(1));
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "dropped"}), IsEmpty());
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
    run(*tx, "SAVEPOINT inner_one");
    EXPECT_FALSE(bear(tx.get(), "b"));
    tx->rollback();
    const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
    run(*mine, "SAVEPOINT inner_one");
    EXPECT_FALSE(bear(mine.get(), "c"));
}

TEST_P(SqlTransactionLaw, AnEffectAndItsDoneMarkCommitTogether) {
    sql_sandbox();
    sql("CREATE TABLE effects (id text)");
    for (int i = 0; i < 3; ++i) {
        const std::unique_ptr<Transaction> tx = store().begin();
        inbox().once(*tx, "shop", "m", [&] { run(*tx, "INSERT INTO effects VALUES ('m')"); });
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
        EXPECT_EQ(inbox().once(*mine, "shop", "m", [] {}), expected);
        run(*mine, "COMMIT");
    }
}

TEST_P(SqlTransactionLaw, ABorrowedTransactionSettles) {
    put();
    const Message claimed = claim_one();
    const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
    EXPECT_THAT(outbox().ack(leases_of(claimed), mine.get()), testing::ElementsAre(Settled::done));
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
        tx->execute({.sql = "SELECT n, t, length(b) FROM v ORDER BY n IS NULL", .params = {}});
    EXPECT_EQ(rows, (SqlRows{{"-5", "t\xC3\xA9xt", "1"}, {{}, {}, {}}}));
}

}  // namespace
}  // namespace postroom::test::sql_transactions
