// Transactions and savepoints around calls, shown on an engine that only writes down what it is
// told.
#include "sql/bracketed_connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace postroom::sql::bracketed_connection_test {
namespace {

using testing::ElementsAre;

class Recorder final : public BracketedConnection {
public:
    Recorder() : BracketedConnection(standard_savepoint) {}
    explicit Recorder(BorrowOptions options) : BracketedConnection(standard_savepoint, options) {}

    bool in_transaction() const override { return true; }
    SqlRows execute(const SqlStatement&) override { return {}; }
    void execute_script(const std::string&) override {}

    std::vector<std::string> said;
    int forgotten = 0;
    bool replaced = false;  // the transaction, by a user of the native handle

protected:
    void require_usable(Bracket) const override {}
    void run_all(std::span<const Call> calls, const OnRow&) override {
        for (const Call& call : calls) {
            said.push_back(call.statement->sql);
            if (call.statement->sql == "refused") throw Error(ErrorKind::rejected, "no");
            if (call.statement->sql == "lost") throw Error(ErrorKind::unavailable, "gone");
            if (call.statement->sql == "thrown") throw std::runtime_error("by a visitor");
        }
    }
    void send(const char* statement) override { said.emplace_back(statement); }
    void send_begin(std::span<const Call>) override { send("BEGIN"); }
    void send_commit() override { send("COMMIT"); }
    void rollback_quietly(const char* statement) noexcept override { said.emplace_back(statement); }
    void set_mark() override { send("MARK"); }
    bool mark_stands() override { return !replaced; }
    bool needs_transaction(std::span<const Call> calls) override { return calls.size() > 1; }
    bool needs_savepoint(std::span<const Call> calls) override { return calls.size() > 1; }
    void failed(const Error& error) override {
        if (error.kind() == ErrorKind::unavailable) give_up();
    }
    void forget_statements() override { ++forgotten; }
};

void run(Recorder& connection, Bracket bracket, const std::vector<std::string>& texts) {
    const Params none;
    std::vector<Statement> statements;
    for (const std::string& text : texts) statements.push_back({.sql = text, .names = {}});
    std::vector<Call> calls;
    for (const Statement& statement : statements) calls.push_back({&statement, &none});
    connection.run(bracket, calls, {});
}

TEST(BracketedConnection, PutsATransactionAroundWhatNeedsOne) {
    Recorder connection;
    run(connection, Bracket::transaction, {"a", "b"});
    EXPECT_THAT(connection.said, ElementsAre("BEGIN", "a", "b", "COMMIT"));
    Recorder alone;
    run(alone, Bracket::transaction, {"a"});
    EXPECT_THAT(alone.said, ElementsAre("a"));
    Recorder separate;
    run(separate, Bracket::separate, {"a", "b"});
    EXPECT_THAT(separate.said, ElementsAre("a", "b"));
}

TEST(BracketedConnection, RollsBackWhatFailed) {
    for (const Bracket bracket : {Bracket::transaction, Bracket::separate}) {
        Recorder connection;
        EXPECT_THROW(run(connection, bracket, {"a", "refused", "c"}), Error);
        EXPECT_EQ(connection.said.back(), "ROLLBACK");
        EXPECT_TRUE(connection.healthy());
    }
}

// Goal: a unit that fails in the caller's transaction leaves nothing behind, and the transaction
// goes on.
TEST(BracketedConnection, UndoesAUnitThatFailsInsideATransaction) {
    Recorder good;
    run(good, Bracket::joined, {"a", "b"});
    EXPECT_THAT(good.said,
                ElementsAre(standard_savepoint.set, "a", "b", standard_savepoint.release));
    for (const char* failure : {"refused", "thrown"}) {
        Recorder bad;
        EXPECT_ANY_THROW(run(bad, Bracket::joined, {"a", failure}));
        EXPECT_THAT(bad.said, ElementsAre(standard_savepoint.set, "a", failure,
                                          standard_savepoint.undo, standard_savepoint.release));
    }
}

TEST(BracketedConnection, LeavesNoStatementOnABorrowedConnection) {
    Recorder borrowed{BorrowOptions{}};
    run(borrowed, Bracket::joined, {"a"});
    EXPECT_EQ(borrowed.forgotten, 1);
    EXPECT_THROW(run(borrowed, Bracket::joined, {"refused"}), Error);
    EXPECT_EQ(borrowed.forgotten, 2);
    Recorder own;
    run(own, Bracket::joined, {"a"});
    EXPECT_THROW(run(own, Bracket::joined, {"refused"}), Error);
    EXPECT_EQ(own.forgotten, 0);
    Recorder prepared({.prepare = true});
    run(prepared, Bracket::joined, {"a"});
    EXPECT_EQ(prepared.forgotten, 0);
}

TEST(BracketedConnection, MarksATransactionOnceAndRefusesToCommitAnother) {
    Recorder connection;
    connection.begin();
    connection.watch_transaction();
    connection.watch_transaction();
    connection.commit();
    connection.begin();
    connection.commit();
    EXPECT_THAT(connection.said, ElementsAre("BEGIN", "MARK", "COMMIT", "BEGIN", "COMMIT"));
    connection.begin();
    connection.watch_transaction();
    connection.replaced = true;
    try {
        connection.commit();
        ADD_FAILURE() << "committed what was begun by somebody else";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::misuse);
    }
    EXPECT_EQ(connection.said.back(), "MARK");
}

TEST(BracketedConnection, IsGivenUpWhenTheDriverSaysSo) {
    Recorder connection;
    EXPECT_THROW(run(connection, Bracket::transaction, {"a", "lost"}), Error);
    EXPECT_FALSE(connection.healthy());
}

}  // namespace
}  // namespace postroom::sql::bracketed_connection_test
