// Upgrading: a database of an earlier version, with messages in every state and writers at work,
// loses nothing when this version deploys its schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::upgrade {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

constexpr const char* owner = "'00000000-0000-4000-8000-00000000000a'";

std::string fixture(const std::string& name) {
    const std::string command = "gzip -dc '" POSTROOM_SOURCE_DIR "/tests/upgrade/" + name + "'";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
    std::string text;
    std::array<char, 65536> piece{};
    while (const std::size_t got = fread(piece.data(), 1, piece.size(), pipe.get()))
        text.append(piece.data(), got);
    return text;
}

// Threads that repeat a statement, each on a connection of its own, until they are stopped.
class Writers {
public:
    // `statement`: of a number that no other call gets.
    void start(const std::string& url, std::function<std::string(int)> statement) {
        std::atomic<int>& done = *counts_.emplace_back(std::make_unique<std::atomic<int>>(0));
        threads_.emplace_back([this, url, statement, &done](std::stop_token stop) {
            Session session(url);
            while (!stop.stop_requested()) {
                try {
                    session.run(statement(++numbers_));
                    ++done;
                } catch (const SqlError& error) {
                    const std::scoped_lock lock(mutex_);
                    errors_.emplace_back(error.what());
                }
            }
        });
    }
    // Waits until each of them has done so many more, or one has failed.
    bool go_on(int more) {
        std::vector<int> before;
        for (const auto& count : counts_) before.push_back(*count);
        return wait_until(
            [&] {
                if (failed()) return true;
                for (std::size_t i = 0; i < before.size(); ++i)
                    if (*counts_[i] < before[i] + more) return false;
                return true;
            },
            120s);
    }
    std::vector<std::string> stop() {
        threads_.clear();
        return errors_;
    }
    bool failed() {
        const std::scoped_lock lock(mutex_);
        return !errors_.empty();
    }
    int done(std::size_t writer) const { return *counts_[writer]; }

private:
    std::vector<std::unique_ptr<std::atomic<int>>> counts_;
    std::atomic<int> numbers_{0};
    std::mutex mutex_;
    std::vector<std::string> errors_;
    std::vector<std::jthread> threads_;  // the last: they use the others
};

class Upgrade : public testing::Test {
protected:
    Upgrade() { database.psql(fixture("postgres_0014.sql.gz")); }

    std::string value(const std::string& sql) {
        return database.psql(sql).at(0).at(0).value_or("NULL");
    }
    // Claims with the functions of any version, in a transaction of its own; returns the lease.
    std::string claim(const std::string& queue, int lease_seconds, int batch) {
        return value("SELECT max(lease_id) FROM infra." + queue + "_claim(" + owner + ", " +
                     std::to_string(lease_seconds) + ", " + std::to_string(batch) + ")");
    }
    static std::string of_lease(const std::string& queue, const std::string& lease) {
        return "(SELECT array_agg(id) FROM infra." + queue + " WHERE lease_id = " + lease + ")";
    }
    // Messages in every state, by the earlier version's functions.
    void fill_outbox();
    void fill_inbox();
    // Delivers by the present library until nothing but dead messages is left.
    void deliver_all(Queue queue);
    std::vector<std::string> objects(const PostgresDatabase& of);

    PostgresDatabase database;
    std::string held;  // a lease that a worker holds throughout
};

void Upgrade::fill_outbox() {
    database.psql("SELECT infra.outbox_enqueue('t', 'done' || g) FROM generate_series(1, 5) g");
    std::string lease = claim("outbox", 60, 5);
    database.psql("SELECT infra.outbox_ack(" + lease + ", " + of_lease("outbox", lease) + ")");
    database.psql("SELECT infra.outbox_enqueue('t', 'dead' || g) FROM generate_series(1, 3) g");
    lease = claim("outbox", 60, 3);
    database.psql("SELECT infra.outbox_fail(" + lease + ", " + of_lease("outbox", lease) +
                  ", 'broken')");
    database.psql("SELECT infra.outbox_enqueue('t', 'retried' || g) FROM generate_series(1, 4) g");
    lease = claim("outbox", 60, 4);
    database.psql("SELECT infra.outbox_abandon(" + lease + ", " + of_lease("outbox", lease) +
                  ", 'not yet', interval '1 second')");
    database.psql("SELECT infra.outbox_enqueue('t', 'lost' || g) FROM generate_series(1, 2) g");
    claim("outbox", 1, 2);
    database.psql("SELECT infra.outbox_enqueue('t', 'held' || g) FROM generate_series(1, 2) g");
    held = claim("outbox", 600, 2);
    database.psql(
        "SELECT infra.outbox_enqueue('t', 'fresh' || g, 'correlated', tenant_id => 'tenant', "
        "headers => '{\"a\": \"b\"}', aggregate_type => 'order', aggregate_id => 'o' || g, "
        "idempotency_key => 'key' || g) FROM generate_series(1, 20) g;"
        "SELECT infra.outbox_enqueue('t', 'urgent' || g, priority => g) FROM generate_series(1, 3) "
        "g;"
        "SELECT infra.outbox_enqueue('t', 'low' || g, priority => -1) FROM generate_series(1, 3) g;"
        "SELECT infra.outbox_enqueue('t', 'deferred' || g, due_time => now() + interval '2 s') "
        "FROM generate_series(1, 3) g;"
        "SELECT infra.outbox_enqueue('t', 'ordered' || g, ordering_key => 'k' || g % 3) "
        "FROM generate_series(1, 12) g");
}

void Upgrade::fill_inbox() {
    database.psql(
        "SELECT infra.inbox_enqueue('t', 's', 'done' || g, 'done' || g) FROM generate_series(1, 3) "
        "g");
    const std::string lease = claim("inbox", 60, 3);
    database.psql("SELECT infra.inbox_ack(" + lease + ", " + of_lease("inbox", lease) + ")");
    database.psql(
        "SELECT infra.inbox_enqueue('t', 's', 'fresh' || g, 'fresh' || g) FROM generate_series(1, "
        "5) g;"
        "SELECT infra.inbox_enqueue('t', 's', 'dead' || g, 'dead' || g) FROM generate_series(1, 2) "
        "g;"
        "SELECT infra.inbox_mark_dead('dead' || g, 's', 'broken') FROM generate_series(1, 2) g;"
        "SELECT infra.inbox_already_processed('seen', 's')");
}

void Upgrade::deliver_all(Queue queue) {
    const std::unique_ptr<Store> store = postgres::open_store(database.url());
    const OwnerToken worker = OwnerToken::generate();
    const bool all = wait_until(
        [&] {
            std::vector<Settlement> settlements;
            for (const Message& m :
                 store->claim(queue, {.owner = worker, .lease = 5min, .batch = 50}))
                settlements.push_back({.lease = *m.lease});
            store->settle(nullptr, queue, settlements);
            return settlements.empty() && store->counts(queue).ready == 0;
        },
        200s);
    EXPECT_TRUE(all);
}

std::vector<std::string> Upgrade::objects(const PostgresDatabase& of) {
    std::vector<std::string> out;
    for (const auto& row :
         of.psql("SELECT object || ': ' || definition FROM infra.postroom_object"))
        out.push_back(row.at(0).value_or(""));
    return out;
}

// Goal: nobody notices the upgrade. Method: fill a database of the earlier version, let writers of
// every kind and a worker of that version go on while this one deploys, deliver everything, and
// account for each message.
TEST_F(Upgrade, LosesNothingWhileWritersAndOlderWorkersGoOn) {
    fill_outbox();
    fill_inbox();
    const int filled = std::stoi(value("SELECT count(*) FROM infra.outbox"));
    Writers writers;
    writers.start(database.url(), [](int i) {
        const std::string n = std::to_string(i);
        return "SELECT infra.outbox_enqueue('t', 'w" + n + "', idempotency_key => 'w" + n + "')";
    });
    writers.start(database.url(), [](int i) {
        return "SELECT infra.outbox_enqueue('t', 'w" + std::to_string(i) + "', ordering_key => 'w" +
               std::to_string(i % 3) + "')";
    });
    writers.start(database.url(), [](int i) {
        return "INSERT INTO infra.outbox_live (topic, payload) VALUES ('t', 'w" +
               std::to_string(i) + "')";
    });
    // As the library of that version does it: with a key, in its order of arguments.
    writers.start(database.url(), [](int i) {
        const std::string n = std::to_string(i);
        return "SELECT * FROM infra.outbox_do_enqueue(" + n + ", 'm" + n + "', 't', 'w" + n +
               "', 'application/json', NULL::json, NULL, '', 'e" + n +
               "', '__GLOBAL__', NULL, NULL::timestamptz, NULL, 0, NULL::text, NULL, 'e" + n +
               "', NULL)";
    });
    writers.start(database.url(), [](int i) {
        const std::string n = std::to_string(i);
        return "SELECT infra.inbox_enqueue('t', 's', 'w" + n + "', 'w" + n + "'::text)";
    });
    // Claims and acknowledges as that library does it. One claim at a time needs no lease of its
    // own.
    Writers workers;
    workers.start(database.url(), [](int i) {
        return std::string("SELECT infra.outbox_do_claim(") + owner + ", " + std::to_string(i) +
               ", 300000000, 5, " + std::to_string(i % 8) + ", true)";
    });
    workers.start(database.url(), [](int) {
        return std::string("SELECT infra.outbox_ack(") + owner +
               "::uuid, ARRAY(SELECT r.id FROM infra.outbox_lease l, LATERAL (SELECT "
               "infra.outbox_item_id(v.seq, v.nonce) AS id FROM infra.outbox_live v WHERE v.seq = "
               "l.seq AND l.lease_id < 1000000 AND l.lease_id > 0) r LIMIT 20))";
    });

    ASSERT_TRUE(writers.go_on(20));
    postgres::open_schema(database.url())->deploy();
    ASSERT_TRUE(writers.go_on(20));
    ASSERT_TRUE(workers.go_on(5));
    EXPECT_THAT(workers.stop(), IsEmpty());
    EXPECT_THAT(writers.stop(), IsEmpty());

    const SchemaReport report = postgres::open_schema(database.url())->report();
    EXPECT_THAT(report.drift, IsEmpty());
    EXPECT_THAT(report.pending, IsEmpty());
    EXPECT_FALSE(report.newer);

    EXPECT_EQ(value("SELECT infra.outbox_ack(" + held + ", " + of_lease("outbox", held) + ")"),
              "2");
    // What the older worker claimed and did not settle is taken back.
    database.psql("UPDATE infra.outbox_lease SET locked_until = now()");
    database.psql("SELECT infra.outbox_reap()");
    deliver_all(Queue::outbox);
    deliver_all(Queue::inbox);
    const int written =
        filled + writers.done(0) + writers.done(1) + writers.done(2) + writers.done(3);
    EXPECT_EQ(value("SELECT count(*) FROM infra.outbox"), std::to_string(written));
    EXPECT_EQ(value("SELECT count(DISTINCT payload) FROM infra.outbox"), std::to_string(written));
    EXPECT_EQ(value("SELECT string_agg(convert_from(payload, 'UTF8') || dead_reason || last_error, "
                    "' ' ORDER BY seq) FROM infra.outbox WHERE state <> 2"),
              "dead1failedbroken dead2failedbroken dead3failedbroken");
    EXPECT_EQ(value("SELECT count(*) FROM infra.outbox WHERE state = 2 AND correlation_id = "
                    "'correlated' AND tenant_id = 'tenant' AND headers::json ->> 'a' = 'b' AND "
                    "aggregate_type = 'order' AND idempotency_key LIKE 'key%'"),
              "20");
    EXPECT_EQ(value("SELECT count(*) FROM infra.outbox WHERE retry_count > 0"), "4");
    EXPECT_EQ(value("SELECT count(*) FROM (SELECT processed_at < lag(processed_at) OVER "
                    "(PARTITION BY ordering_key ORDER BY seq) AS wrong FROM infra.outbox WHERE "
                    "ordering_key IS NOT NULL) o WHERE wrong"),
              "0");
    // A key that was used before the upgrade is known after it.
    EXPECT_EQ(
        value("SELECT infra.outbox_enqueue('t', 'again', tenant_id => 'tenant', idempotency_key "
              "=> 'key1') = (SELECT "
              "id FROM infra.outbox WHERE idempotency_key = 'key1')"),
        "t");

    EXPECT_EQ(value("SELECT count(*) FROM infra.inbox WHERE state = 2"),
              std::to_string(3 + 5 + writers.done(4)));
    EXPECT_EQ(
        value("SELECT string_agg(message_id || last_error, ' ' ORDER BY seq) FROM infra.inbox "
              "WHERE state = 3"),
        "dead1broken dead2broken");
    EXPECT_EQ(value("SELECT count(*) FROM infra.inbox WHERE state = 4"), "1");
    EXPECT_EQ(value("SELECT infra.inbox_already_processed('done1', 's')"), "t");
}

// Goal: an upgraded database is what a new one is. Method: compare every object's definition.
// Rows that could be inserted before numbers were checked, and that no later UPDATE would pass.
TEST_F(Upgrade, MakesMessagesClaimableWhoseNumbersFitIntoNoId) {
    database.psql(
        "INSERT INTO infra.outbox_live (seq, topic, payload) SELECT n, 't', 'live' FROM "
        "unnest(ARRAY[-5, 0, 288230376151711744, 9223372036854775807]) n;"
        "INSERT INTO infra.outbox_waiting (seq, topic, payload, ordering_key) "
        "SELECT n, 't', 'waiting', 'k' FROM unnest(ARRAY[-6, 4611686018427387904]) n;"
        "INSERT INTO infra.outbox_key (tenant_id, idempotency_key, seq, nonce, message_id, "
        "created_at) SELECT '', 'key', seq, nonce, message_id, now() FROM infra.outbox_live "
        "WHERE seq = -5");
    postgres::open_schema(database.url())->deploy();
    EXPECT_EQ(value("SELECT count(*) FROM infra.outbox_key k JOIN infra.outbox_live v "
                    "ON v.seq = k.seq AND v.nonce = k.nonce AND v.seq > 0"),
              "1");
    const std::unique_ptr<Store> store = postgres::open_store(database.url());
    std::vector<Settlement> failed;
    EXPECT_TRUE(wait_until(
        [&] {
            for (const Message& m : store->claim(
                     Queue::outbox, {.owner = OwnerToken::generate(), .lease = 5min, .batch = 50}))
                failed.push_back({.lease = *m.lease, .outcome = Outcome::abandon, .delay = 1us});
            return failed.size() >= 5;  // of the two with a key the second waits for the first
        },
        60s));
    for (const Settled settled : store->settle(nullptr, Queue::outbox, failed))
        EXPECT_EQ(settled, Settled::ready);
    deliver_all(Queue::outbox);
    EXPECT_EQ(value("SELECT count(*) FROM infra.outbox WHERE state = 2"), "6");
}

TEST_F(Upgrade, LeavesTheObjectsOfANewDatabase) {
    postgres::open_schema(database.url())->deploy();
    const PostgresDatabase fresh;
    postgres::open_schema(fresh.url())->deploy();
    EXPECT_THAT(objects(database), testing::UnorderedElementsAreArray(objects(fresh)));
}

// Goal: who may read the outbox before may read it after.
TEST_F(Upgrade, KeepsGrantsOnWhatItReplacesInPlace) {
    database.psql(
        "GRANT SELECT ON infra.outbox TO pg_monitor; "
        "REVOKE EXECUTE ON FUNCTION infra.outbox_reap() FROM PUBLIC");
    postgres::open_schema(database.url())->deploy();
    EXPECT_EQ(value("SELECT has_table_privilege('pg_monitor', 'infra.outbox', 'SELECT')"), "t");
    EXPECT_EQ(
        value("SELECT has_function_privilege('pg_monitor', 'infra.outbox_reap()', 'EXECUTE')"),
        "f");
}

}  // namespace
}  // namespace postroom::test::upgrade
