// What the MariaDB driver does to connections, its own and a caller's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const NewMessage message{.topic = "t", .payload = "p"};

class MariadbDriver : public testing::Test {
protected:
    std::unique_ptr<Store> open(OpenOptions options = {}) {
        options.deploy_schema = true;
        return mysql::open_store(database.url(), options);
    }
    static ErrorKind kind_of(const std::function<void()>& work) {
        try {
            work();
        } catch (const Error& error) {
            return error.kind();
        }
        throw std::runtime_error("nothing was thrown");
    }
    // Ends the connection `id` and sees it gone.
    void end_connection(const std::string& id) {
        const std::string root = database.server().root_url();
        try {
            mariadb_sql(root, "KILL " + id);
        } catch (const MariadbError& error) {
            // One that its client has closed may go at this moment.
            constexpr unsigned no_such_thread = 1094;
            if (error.code() != no_such_thread) throw;
        }
        ASSERT_TRUE(wait_until(
            [&] {
                return mariadb_sql(root,
                                   "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = " + id)
                    .empty();
            },
            30s));
    }

    MariadbDatabase database;
};

TEST_F(MariadbDriver, SetsUpItsSessions) {
    const auto store = open({.statement_timeout = 7s});
    const auto tx = store->begin();
    const auto value = [&](const std::string& sql) {
        return tx->execute({.sql = "SELECT " + sql, .params = {}}).at(0).at(0).value();
    };
    EXPECT_EQ(value("@@tx_isolation"), "READ-COMMITTED");
    EXPECT_EQ(value("@@time_zone"), "+00:00");
    EXPECT_THAT(value("@@sql_mode"), HasSubstr("STRICT_ALL_TABLES"));
    EXPECT_EQ(value("@@character_set_client"), "utf8mb4");
    EXPECT_EQ(value("@@innodb_lock_wait_timeout"), "7");
    EXPECT_EQ(value("@@max_statement_time"), "8.000000");
}

// A connection that the server closed while it was idle is noticed and replaced.
TEST_F(MariadbDriver, SurvivesTheLossOfIdleConnections) {
    const auto store = open();
    const Outbox outbox(*store);
    outbox.enqueue(message);
    for (const auto& row : mariadb_sql(
             database.server().root_url(),
             "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '" + database.name() + "'"))
        end_connection(row.at(0).value());
    outbox.enqueue(message);
    EXPECT_EQ(outbox.counts().ready, 2U);
}

TEST_F(MariadbDriver, TellsThatATransactionWasLostWithItsConnection) {
    const auto store = open();
    const auto tx = store->begin();
    const std::string id =
        tx->execute({.sql = "SELECT CONNECTION_ID()", .params = {}}).at(0).at(0).value();
    Outbox(*store).enqueue(*tx, message);
    end_connection(id);
    EXPECT_EQ(kind_of([&] { tx->commit(); }), ErrorKind::outcome_unknown);
    EXPECT_EQ(Outbox(*store).counts().ready, 0U);
}

TEST_F(MariadbDriver, AMessageLargerThanAPacketIsRefusedByName) {
    mariadb_sql(database.server().root_url(), "SELECT 1");
    OpenOptions options;
    options.limits.max_payload_bytes = 1U << 30U;
    const auto store = open(options);
    const auto limit = std::stoul(database.sql("SELECT @@max_allowed_packet").at(0).at(0).value());
    const Outbox outbox(*store);
    try {
        outbox.enqueue({.topic = "t", .payload = std::string(limit, 'x')});
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::rejected);
        EXPECT_THAT(error.what(), HasSubstr("max_allowed_packet"));
    }
    const std::string nearly(limit - 64 * 1024UL, 'x');
    outbox.enqueue({.topic = "t", .payload = nearly});
    const auto claimed = store->claim(Queue::outbox, {.owner = OwnerToken::generate()});
    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(claimed[0].payload, nearly);
}

TEST_F(MariadbDriver, APasswordIsInNoError) {
    const mysql::Address address = mysql::Address::parse(database.url());
    const std::string url =
        "mysql://nobody_here:canary-8127@127.0.0.1:" + std::to_string(address.hosts[0].port) + "/" +
        address.database;
    try {
        mysql::open_store(url);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::rejected);
        EXPECT_THAT(error.what(), testing::Not(HasSubstr("canary-8127")));
    }
}

TEST_F(MariadbDriver, AServerThatIsNotThereIsUnavailable) {
    EXPECT_EQ(kind_of([] { mysql::open_store("mysql://root@127.0.0.1:1/shop"); }),
              ErrorKind::unavailable);
}

TEST_F(MariadbDriver, ALockThatIsNotToBeHadIsAConflict) {
    const auto patient = open();
    const auto store =
        mysql::open_store(database.url(), {.statement_timeout = 1s, .conflict_retries = 0});
    NativeSession blocker(database.url());
    blocker.run("START TRANSACTION");
    blocker.run("SELECT * FROM outbox_gate FOR UPDATE");
    const auto refused = [&] {
        return kind_of(
            [&] { (void)store->claim(Queue::outbox, {.owner = OwnerToken::generate()}); });
    };
    // A second after the wait for the lock the statement as a whole is over: a machine that stands
    // still for so long may hear of that first.
    EXPECT_TRUE(wait_until([&] { return refused() == ErrorKind::conflict; }, 20s));
    blocker.run("ROLLBACK");
    EXPECT_TRUE(patient->claim(Queue::outbox, {.owner = OwnerToken::generate()}).empty());
}

// The caller's settings, its transaction and its prepared statements are its own.
TEST_F(MariadbDriver, ABorrowedConnectionStaysAsItWas) {
    const auto store = open();
    NativeSession mine(database.url());
    mine.run("SET SESSION time_zone = '+05:00'");
    mine.run("SET SESSION sql_mode = ''");
    const auto settings = [&] {
        return mine.run(
            "SELECT @@time_zone, @@sql_mode, @@tx_isolation, @@autocommit, "
            "@@innodb_lock_wait_timeout, @@max_statement_time");
    };
    const auto before = settings();
    const auto statements = [&] {
        return mine.run("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'").at(0).at(1).value() + "-" +
               mine.run("SHOW SESSION STATUS LIKE 'Com_stmt_close'").at(0).at(1).value();
    };
    const auto context = mysql::borrow(mine.handle());
    mine.run("START TRANSACTION");
    const Instant due = store->now() + 1h;
    Outbox(*store).enqueue(*context, {.topic = "t", .payload = "p", .idempotency_key = "k"});
    Outbox(*store).enqueue(*context, {.topic = "t", .payload = "p", .due_time = due});
    EXPECT_TRUE(context->in_transaction());
    const std::string counted = statements();
    EXPECT_EQ(counted.substr(0, counted.find('-')), counted.substr(counted.find('-') + 1));
    mine.run("COMMIT");
    EXPECT_EQ(settings(), before);
    const auto found = store->find(Queue::outbox, {});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[1].due_time, due);  // whatever the caller's time zone is
}

TEST_F(MariadbDriver, ABorrowedConnectionKeepsPreparedStatementsIfAsked) {
    const auto store = open();
    NativeSession mine(database.url());
    const auto prepared = [&] {
        return mine.run("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'").at(0).at(1).value();
    };
    const auto context = mysql::borrow(mine.handle(), {.prepare = true});
    const auto enqueue = [&] {
        mine.run("START TRANSACTION");
        Outbox(*store).enqueue(*context, message);
        mine.run("COMMIT");
    };
    enqueue();
    const std::string first = prepared();
    for (int i = 0; i < 3; ++i) enqueue();
    EXPECT_EQ(prepared(), first);
    EXPECT_EQ(store->find(Queue::outbox, {}).size(), 4U);
}

TEST_F(MariadbDriver, AUnitThatFailsLeavesNothingInABorrowedTransaction) {
    const auto store = open();
    NativeSession mine(database.url());
    const auto context = mysql::borrow(mine.handle());
    mine.run("START TRANSACTION");
    database.sql("DROP PROCEDURE outbox_draw");
    const NewMessage deferred{
        .topic = "t", .payload = "p", .idempotency_key = "k", .due_time = store->now() + 1h};
    EXPECT_THROW(Outbox(*store).enqueue(*context, deferred), Error);
    EXPECT_TRUE(context->in_transaction());
    mine.run("COMMIT");
    EXPECT_EQ(database.sql("SELECT COUNT(*) FROM outbox_key").at(0).at(0).value(), "0");
}

TEST_F(MariadbDriver, ABorrowedConnectionWithAnotherCharacterSetIsRefused) {
    const auto store = open();
    NativeSession mine(database.url());
    mysql_set_character_set(mine.handle(), "latin1");
    const auto context = mysql::borrow(mine.handle());
    mine.run("START TRANSACTION");
    EXPECT_EQ(kind_of([&] { Outbox(*store).enqueue(*context, message); }), ErrorKind::misuse);
}

// Goal: a deadlock ends the transaction, and nothing that follows may stand alone.
TEST_F(MariadbDriver, AfterADeadlockATransactionRefusesToGoOn) {
    const auto store = open();
    database.sql("CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1), (2)");
    const auto run = [](Transaction& tx, const std::string& sql) {
        tx.execute({.sql = sql, .params = {}});
    };
    const auto first = store->begin();
    const auto second = store->begin();
    run(*first, "SELECT * FROM a WHERE id = 1 FOR UPDATE");
    run(*second, "SELECT * FROM a WHERE id = 2 FOR UPDATE");
    std::jthread crosswise([&] {
        try {
            run(*first, "SELECT * FROM a WHERE id = 2 FOR UPDATE");
        } catch (const Error&) {  // NOLINT(bugprone-empty-catch): one of the two is chosen
        }
    });
    ErrorKind kind = ErrorKind::conflict;
    try {
        run(*second, "SELECT * FROM a WHERE id = 1 FOR UPDATE");
    } catch (const Error& error) {
        kind = error.kind();
    }
    crosswise.join();
    EXPECT_EQ(kind, ErrorKind::conflict);
    EXPECT_NE(first->in_transaction(), second->in_transaction());
    Transaction& ended = first->in_transaction() ? *second : *first;
    EXPECT_EQ(kind_of([&] { Outbox(*store).enqueue(ended, message); }), ErrorKind::misuse);
}

// Goal: changing a schema commits by itself, so a deployment that was cut off is resumed by the
// next. Method: undo the notes of some migrations and a part of what they made, as a cut-off one
// leaves it.
TEST_F(MariadbDriver, ADeploymentThatWasCutOffIsResumed) {
    open();
    database.sql(
        "DELETE FROM postroom_migration WHERE number >= 14; DROP PROCEDURE outbox_lease_bands; "
        "DROP VIEW inbox; INSERT INTO outbox_live (topic, payload) VALUES ('kept', 'p')");
    const auto schema = mysql::open_schema(database.url());
    EXPECT_FALSE(schema->report().up_to_date());
    schema->deploy();
    EXPECT_TRUE(schema->report().up_to_date());
    const auto store = mysql::open_store(database.url());
    EXPECT_EQ(store->claim(Queue::outbox, {.owner = OwnerToken::generate()}).size(), 1U);
}

// Goal: what a deployment records of its objects is there after one that was cut off at that
// moment, so that changes by hand are noticed. Method: a table that takes no record.
TEST_F(MariadbDriver, ADeploymentThatWasCutOffBeforeItsLastStepRecordsItsObjects) {
    database.sql("CREATE TABLE postroom_object (object CHAR(1) PRIMARY KEY, definition CHAR(1))");
    const auto schema = mysql::open_schema(database.url());
    EXPECT_THROW(schema->deploy(), Error);
    EXPECT_FALSE(schema->report().pending.empty());
    database.sql("DROP TABLE postroom_object");
    schema->deploy();
    EXPECT_TRUE(schema->report().up_to_date());
    database.sql("ALTER TABLE outbox_key_lease ADD COLUMN mine INT");
    database.sql("DROP PROCEDURE inbox_lease_bands");
    EXPECT_THAT(schema->report().drift,
                testing::IsSupersetOf({"table outbox_key_lease was changed",
                                       "procedure inbox_lease_bands is missing"}));
}

// Goal: a lock that the server could not give is none. Method: the wait for it is ended.
TEST_F(MariadbDriver, ADeploymentWithoutItsLockIsNone) {
    NativeSession other(database.url());
    const std::string lock = "CONCAT('postroom ', LEFT(SHA2(DATABASE(), 256), 32))";
    ASSERT_EQ(other.value("SELECT GET_LOCK(" + lock + ", 1)"), "1");
    std::jthread deployment(
        [&] { EXPECT_THROW(mysql::open_schema(database.url())->deploy(), Error); });
    const std::string root = database.server().root_url();
    std::string id;
    EXPECT_TRUE(wait_until(
        [&] {
            const auto rows =
                mariadb_sql(root, "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '" +
                                      database.name() + "' AND STATE = 'User lock'");
            if (!rows.empty()) id = rows.at(0).at(0).value();
            return !id.empty();
        },
        25s));
    mariadb_sql(root, "KILL QUERY " + id);
    deployment.join();
    EXPECT_EQ(database.sql("SHOW TABLES").size(), 0U);
}

// Goal: a key that a failed call left behind, in the transaction of a caller who went on, belongs
// to the next message that comes with it.
TEST_F(MariadbDriver, AKeyWithoutAMessageIsTakenOver) {
    const auto store = open();
    database.sql(
        "INSERT INTO outbox_key (tenant_id, idempotency_key, nonce, message_id, created_at) VALUES "
        "('', 'k', 5, 'old', '2001-01-01')");
    const Outbox outbox(*store);
    const NewMessage keyed{.topic = "t", .payload = "p", .idempotency_key = "k"};
    const EnqueueResult first = outbox.enqueue(keyed);
    EXPECT_FALSE(first.already_existed);
    const auto found = store->find(Queue::outbox, {});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].id, first.id);
    EXPECT_EQ(found[0].message_id, first.message_id);
    const EnqueueResult again = outbox.enqueue(keyed);
    EXPECT_TRUE(again.already_existed);
    EXPECT_EQ(again.id, first.id);
    EXPECT_EQ(again.message_id, first.message_id);
}

}  // namespace
}  // namespace postroom::test
