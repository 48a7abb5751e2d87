// Where statements that define tables commit what is open: a transaction that one of them has ended
// is not taken for one that still stands.
#include <atomic>
#include <thread>

#include "conformance/law.hpp"
#include "postroom/dispatcher.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::implicit_commits {
namespace {

using namespace std::chrono_literals;

const NewMessage message{.topic = "t", .payload = "p"};

// How a statement comes to the connection: by execute(), or behind the library's back.
enum class Way : std::uint8_t { executed, native };

struct Ending {
    Way way;
    std::string statement;
};

std::vector<Ending> endings() {
    std::vector<Ending> out;
    for (const Way way : {Way::executed, Way::native}) {
        for (const char* const statement :
             {"CREATE TABLE made (n integer)", "ALTER TABLE made ADD COLUMN m integer",
              "TRUNCATE TABLE made", "DROP TABLE made"})
            out.push_back({way, statement});
    }
    return out;
}

void end(SqlSandbox& sandbox, Transaction& tx, const Ending& ending) {
    if (ending.way == Way::native) return sandbox.native_handle(tx)(ending.statement);
    tx.execute({.sql = ending.statement, .params = {}});
}

}  // namespace

// Goal: commit() does not say that all is committed, and nothing is handed over. Method: a
// dispatcher is there to be handed something; a later message shows that it is at work.
TEST_P(ImplicitCommitLaw, OfATransactionIsNoSuccessOfItsCommit) {
    std::atomic<int> calls = 0;
    Dispatcher dispatcher(store(), {.lease = long_lease});
    dispatcher.on("t", [&](const Message&) { ++calls; });
    dispatcher.start();
    int told = 0;
    for (const Ending& ending : endings()) {
        const std::unique_ptr<Transaction> tx = store().begin();
        tx->after_commit([&] { ++told; });
        outbox().enqueue(*tx, message);
        end(sql_sandbox(), *tx, ending);
        EXPECT_EQ(kind_thrown([&] { tx->commit(); }), ErrorKind::misuse) << ending.statement;
    }
    EXPECT_EQ(told, 0);
    const EnqueueResult later = outbox().enqueue(message);
    EXPECT_TRUE(wait_until([&] { return outbox().get(later.id)->state == State::done; }, 1min));
    EXPECT_EQ(calls, 1);
}

// What is written behind it would be committed at once, and alone.
TEST_P(ImplicitCommitLaw, OfATransactionLeavesNoneToWriteIn) {
    for (const Ending& ending : endings()) {
        const std::unique_ptr<Transaction> tx = store().begin();
        end(sql_sandbox(), *tx, ending);
        EXPECT_EQ(kind_thrown([&] { outbox().enqueue(*tx, message); }), ErrorKind::misuse)
            << ending.statement;
        EXPECT_FALSE(tx->in_transaction()) << ending.statement;
    }
    EXPECT_THAT(store().find(Queue::outbox, {}), IsEmpty());
}

// Its effect stands already: another attempt would repeat it.
TEST_P(ImplicitCommitLaw, ByAHandlerThatRunsOnceEndsItsMessageDead) {
    sandbox();
    sql("CREATE TABLE effects (n integer)");
    int runs = 0;
    for (const Ending& ending : endings()) {
        Routes routes;
        routes.in_transaction("t", [&](const Message&, HandlerContext& context) {
            Transaction& tx = context.transaction();
            tx.execute({.sql = "INSERT INTO effects VALUES (1)", .params = {}});
            end(sql_sandbox(), tx, ending);
        });
        inbox().enqueue(
            {.topic = "t", .source = "s", .message_id = std::to_string(++runs), .payload = "p"});
        const std::optional<Processed> processed = process_one(inbox(), routes);
        ASSERT_TRUE(processed) << ending.statement;
        EXPECT_EQ(processed->settled, Settled::dead) << ending.statement;
        EXPECT_THAT(processed->error, testing::HasSubstr("ended the transaction"))
            << ending.statement;
        EXPECT_FALSE(process_one(inbox(), routes)) << ending.statement;
        EXPECT_EQ(sql("SELECT count(*) FROM effects"), (SqlRows{{std::to_string(runs)}}))
            << ending.statement;
    }
    EXPECT_THAT(store().find(Queue::inbox, {.state = State::dead}), SizeIs(runs));
}

}  // namespace postroom::test::implicit_commits
