// post() on PostgreSQL: the INSERT travels with what follows it, and so does what is wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <mutex>

#include "postroom/backend/postgres.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/postgres_server.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::post_test {
namespace {

const NewMessage good{.topic = "good", .payload = "p"};
const NewMessage bad{.topic = "bad", .payload = "p"};

class PostgresPost : public testing::Test {
protected:
    PostgresPost() {
        store = open(database.url());
        database.psql("CREATE TABLE t (id integer PRIMARY KEY)");
        // The database may refuse what the library lets pass.
        database.psql(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            "'not this one'; END $$; CREATE TRIGGER refuses BEFORE INSERT ON infra.outbox_live FOR "
            "EACH ROW WHEN (NEW.topic = 'bad') EXECUTE FUNCTION refuse()");
    }

    // One connection, so that every transaction is on the same.
    static std::unique_ptr<Store> open(const std::string& url, bool pooled = false) {
        return postgres::open_store(url,
                                    {.deploy_schema = !pooled, .pool_max = 1, .pooled = pooled});
    }
    static std::string pid(Store& store) {
        return store.begin()->execute({"SELECT pg_backend_pid()", {}}).at(0).at(0).value();
    }
    std::string live() const {
        return database.psql("SELECT count(*) FROM infra.outbox_live").at(0).at(0).value();
    }
    static ErrorKind kind(const std::function<void()>& act) {
        try {
            act();
        } catch (const Error& error) {
            return error.kind();
        }
        ADD_FAILURE() << "nothing was thrown";
        return ErrorKind::misuse;
    }

    PostgresDatabase database;
    std::unique_ptr<Store> store;
};

TEST_F(PostgresPost, WhatTheDatabaseRefusesFailsTheCommitAndUndoesAllOfIt) {
    const Outbox outbox(*store);
    const std::string before = pid(*store);
    int rollbacks = 0;
    const auto tx = store->begin();
    tx->after_rollback([&] { ++rollbacks; });
    tx->execute({"INSERT INTO t VALUES (1)", {}});
    outbox.post(*tx, good);
    outbox.post(*tx, bad);
    EXPECT_EQ(kind([&] { tx->commit(); }), ErrorKind::rejected);
    EXPECT_FALSE(tx->in_transaction());
    EXPECT_EQ(rollbacks, 1);
    EXPECT_EQ(live(), "0");
    EXPECT_EQ(database.psql("SELECT count(*) FROM t"), (SqlRows{{"0"}}));
    EXPECT_EQ(pid(*store), before) << "the connection is still good";
}

TEST_F(PostgresPost, WhatTheDatabaseRefusesFailsTheNextStatement) {
    const Outbox outbox(*store);
    const auto tx = store->begin();
    outbox.post(*tx, bad);
    EXPECT_EQ(kind([&] { tx->execute({"INSERT INTO t VALUES (1)", {}}); }), ErrorKind::rejected);
    EXPECT_EQ(kind([&] { tx->commit(); }), ErrorKind::rejected) << "it has failed as a whole";
    EXPECT_EQ(database.psql("SELECT count(*) FROM t"), (SqlRows{{"0"}}));
    outbox.enqueue(good);
    EXPECT_EQ(live(), "1");
}

TEST_F(PostgresPost, WhatTheDatabaseRefusesDoesNotKeepATransactionFromBeingRolledBack) {
    const Outbox outbox(*store);
    const auto tx = store->begin();
    outbox.post(*tx, bad);
    tx->rollback();
    outbox.enqueue(good);
    EXPECT_EQ(live(), "1");
}

TEST_F(PostgresPost, ASavepointSurvivesWhatTheDatabaseRefusesBehindIt) {
    const Outbox outbox(*store);
    const auto tx = store->begin();
    outbox.post(*tx, good);
    tx->execute({"SAVEPOINT s", {}});
    outbox.post(*tx, bad);
    EXPECT_EQ(kind([&] { tx->execute({"SELECT 1", {}}); }), ErrorKind::rejected);
    tx->execute({"ROLLBACK TO SAVEPOINT s", {}});
    outbox.post(*tx, good);
    tx->commit();
    EXPECT_EQ(live(), "2");
}

// It was given room in the hot queue, and its transaction commits without it.
TEST_F(PostgresPost, WhatTheDatabaseRefusedBehindASavepointIsNeverHandedOver) {
    std::mutex mutex;
    std::vector<std::string> delivered;
    Dispatcher dispatcher(*store, {.poll_interval_max = std::chrono::hours{1}});
    for (const char* const topic : {"good", "bad"}) {
        dispatcher.on(topic, [&](const Message& message) {
            const std::lock_guard lock(mutex);
            delivered.push_back(message.topic);
        });
    }
    dispatcher.start();
    {
        const Outbox outbox(*store);
        const auto tx = store->begin();
        tx->execute({"SAVEPOINT s", {}});
        outbox.post(*tx, bad);
        outbox.post(*tx, good);
        EXPECT_EQ(kind([&] { tx->execute({"SELECT 1", {}}); }), ErrorKind::rejected);
        tx->execute({"ROLLBACK TO SAVEPOINT s", {}});
        outbox.post(*tx, good);
        tx->commit();
    }
    EXPECT_TRUE(wait_until([&] { return live() == "0"; }, std::chrono::seconds{60},
                           std::chrono::milliseconds{1}));
    // What was rolled back may be found out about after the other was delivered.
    EXPECT_TRUE(
        wait_until([&] { return dispatcher.status().hot_depth == 0; }, std::chrono::seconds{60}));
    dispatcher.close();
    EXPECT_THAT(delivered, testing::ElementsAre("good"));
}

TEST_F(PostgresPost, AnOutboxNeedNotOutliveTheTransactionItPostedIn) {
    struct Count final : Observer {
        void observe(const Event& event) noexcept override {
            count += event.kind == EventKind::enqueued;
        }
        int count = 0;
    } heard;
    const auto tx = store->begin();
    Outbox(*store, {.queue = {.observer = &heard}}).post(*tx, good);
    tx->commit();
    EXPECT_EQ(heard.count, 1);
}

TEST_F(PostgresPost, TheHandleFindsWhatWasPosted) {
    const Outbox outbox(*store);
    const auto tx = store->begin();
    outbox.post(*tx, good);
    PGconn* const handle = postgres::handle(*tx);
    ASSERT_EQ(PQpipelineStatus(handle), PQ_PIPELINE_OFF);
    EXPECT_EQ(PQtransactionStatus(handle), PQTRANS_INTRANS);
    const std::unique_ptr<PGresult, decltype(&PQclear)> rows(
        PQexec(handle, "SELECT count(*) FROM infra.outbox_live"), &PQclear);
    EXPECT_STREQ(PQgetvalue(rows.get(), 0, 0), "1");
    outbox.post(*tx, good);
    tx->commit();
    EXPECT_EQ(live(), "2");
    const auto failing = store->begin();
    outbox.post(*failing, bad);
    EXPECT_EQ(kind([&] { postgres::handle(*failing); }), ErrorKind::rejected);
}

// libpq would send the first part of them, and the server would wait for the rest.
TEST_F(PostgresPost, LargeOnesAndManySmallOnesDoNotWait) {
    const Outbox outbox(*store);
    const auto tx = store->begin();
    const auto is_idle = [&] {
        return database.psql(
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                   "pid <> pg_backend_pid() AND state <> 'idle in transaction' AND query LIKE "
                   "'%outbox_live%'") == SqlRows{{"0"}};
    };
    for (const std::size_t size : {7'000U, 70'000U, 1'000'000U}) {
        outbox.post(*tx, {.topic = "large", .payload = std::string(size, 'x')});
        EXPECT_TRUE(wait_until(is_idle, std::chrono::seconds{30}));
    }
    for (int i = 0; i < 100; ++i) outbox.post(*tx, good);
    EXPECT_EQ(kind([&] { outbox.post(*tx, {.topic = "bad", .payload = std::string(7'000, 'x')}); }),
              ErrorKind::rejected);
    tx->rollback();
    const auto kept = store->begin();
    for (int i = 0; i < 100; ++i) outbox.post(*kept, good);
    for (int i = 0; i < 40; ++i)
        outbox.post(*kept, {.topic = "large", .payload = std::string(1'000'000, 'x')});
    kept->commit();
    EXPECT_EQ(live(), "140");
}

TEST_F(PostgresPost, GoesThroughAPooler) {
    const auto pooled = open(database.via_pgbouncer_url(), /*pooled=*/true);
    const Outbox outbox(*pooled);
    for (int i = 0; i < 5; ++i) {
        const auto tx = pooled->begin();
        outbox.post(*tx, good);
        if (i % 2 == 0) tx->execute({"INSERT INTO t VALUES ($1::integer)", {std::int64_t{i}}});
        outbox.post(*tx, good);
        tx->commit();
        const auto failing = pooled->begin();
        outbox.post(*failing, bad);
        EXPECT_EQ(kind([&] { failing->commit(); }), ErrorKind::rejected);
    }
    EXPECT_EQ(live(), "10");
}

// The server said goodbye before it was told of the message, so it was not told to commit either.
TEST_F(PostgresPost, AConnectionThatEndedBeforeTheCommitHasUndoneAllOfIt) {
    const Outbox outbox(*store);
    const std::string server = pid(*store);
    const auto tx = store->begin();
    bool handed_over = false;
    tx->after_commit([&] { handed_over = true; });
    tx->execute({"INSERT INTO t VALUES (1)", {}});
    outbox.post(*tx, good);
    database.psql("SELECT pg_terminate_backend(" + server + ", 60000)");
    EXPECT_EQ(kind([&] { tx->commit(); }), ErrorKind::unavailable);
    EXPECT_FALSE(handed_over);
    EXPECT_EQ(database.psql("SELECT count(*) FROM t"), (SqlRows{{"0"}}));
    outbox.enqueue(good);
    EXPECT_EQ(live(), "1");
}

// The server ends in the middle of the COMMIT: it got it, and nobody hears what became of it.
TEST_F(PostgresPost, AnAnswerToTheCommitThatIsLostLeavesTheOutcomeOpen) {
    database.psql(
        "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM "
        "pg_terminate_backend(pg_backend_pid()), pg_sleep(10); RETURN NULL; END $$; CREATE "
        "CONSTRAINT TRIGGER ends AFTER INSERT ON infra.outbox_live DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW WHEN (NEW.topic = 'deadly') EXECUTE FUNCTION end_session()");
    const Outbox outbox(*store);
    bool handed_over = false;
    const auto tx = store->begin();
    tx->after_commit([&] { handed_over = true; });
    outbox.post(*tx, {.topic = "deadly", .payload = "p"});
    EXPECT_EQ(kind([&] { tx->commit(); }), ErrorKind::outcome_unknown);
    EXPECT_FALSE(tx->in_transaction());
    EXPECT_FALSE(handed_over);
    outbox.enqueue(good);
    EXPECT_EQ(live(), "1");
}

}  // namespace
}  // namespace postroom::test::post_test
