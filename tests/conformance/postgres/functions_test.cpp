// The SQL functions for any language: what the laws do not ask of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/ulid.hpp"
#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "postroom/outbox.hpp"
#include "queue/claim_passes.hpp"

namespace postroom::test {
namespace {

constexpr const char* owner = "'00000000-0000-4000-8000-00000000000a'";

class Functions : public testing::Test {
protected:
    Functions()
        : store(postgres::open_store(database.url(), {.deploy_schema = true})),
          session(database.url()) {}

    // The words with which a call is refused; all of them as an invalid parameter.
    std::string refusal(const std::string& call) {
        try {
            session.run("SELECT " + call);
        } catch (const SqlError& error) {
            EXPECT_EQ(error.sqlstate(), "22023") << call;
            const std::string text = error.what();
            return text.substr(0, text.find('\n'));
        }
        return "accepted";
    }

    PostgresDatabase database;
    std::unique_ptr<Store> store;
    Session session;
};

// Goal: a batch is shared by one rule, whether the library or the function works out the numbers.
TEST_F(Functions, ShareABatchAsTheLibraryDoes) {
    for (const std::uint32_t batch : {1U, 2U, 3U, 7U, 8U, 100U}) {
        for (std::uint64_t number = 0; number < 40; ++number) {
            const ClaimPasses wanted = claim_passes(batch, number);
            const SqlRows rows =
                session.run("SELECT * FROM infra.outbox_claim_passes(" + std::to_string(batch) +
                            ", " + std::to_string(number) + ")");
            const auto column = [&](std::size_t i) {
                return static_cast<std::uint32_t>(std::stoul(rows.at(0).at(i).value_or("")));
            };
            const ClaimPasses got{.urgent = column(0),
                                  .keyed = column(1),
                                  .due = column(2),
                                  .low = column(3),
                                  .keyed_again = column(4)};
            EXPECT_EQ(got, wanted) << batch << " by claim " << number;
        }
    }
}

TEST_F(Functions, RefuseWhatTheLibraryRefuses) {
    const std::string claim = std::string("infra.outbox_claim(") + owner;
    const std::vector<std::pair<std::string, std::string>> cases{
        {"infra.outbox_enqueue('', 'x'::text)", "topic: must not be empty"},
        {"infra.outbox_enqueue(NULL, 'x'::text)", "topic: must not be empty"},
        {"infra.outbox_enqueue(repeat('x', 256), 'x'::text)",
         "topic: 256 characters, at most 255 allowed"},
        {"infra.outbox_enqueue('t', NULL::text)", "payload: missing"},
        {"infra.outbox_enqueue('t', repeat('x', 1048577))",
         "payload: 1048577 bytes, at most 1048576 allowed"},
        {"infra.outbox_enqueue('t', 'x'::text, headers => '[1]')",
         "headers: must be a JSON object"},
        {"infra.inbox_enqueue('t', 's', 'm', 'x'::text, headers => jsonb_build_object('h', "
         "repeat('x', 65536)))",
         "headers: 65545 bytes, at most 65536 allowed"},
        {"infra.outbox_enqueue('t', 'x'::text, max_attempts => 0)",
         "max_attempts: 0, at least 1 required"},
        {"infra.outbox_enqueue('t', 'x'::text, message_id => repeat('x', 37))",
         "message_id: 37 characters, at most 36"},
        {claim + ", 0, 10)", "lease: 0 s"},
        {claim + ", 86401, 10)", "lease: 86401 s"},
        {claim + ", 30, 0)", "batch: 0, must be between 1 and 10000"},
        {claim + ", 30, 10001)", "batch: 10001"},
        {"infra.outbox_claim(NULL, 30, 10)", "owner_token: must not be the nil token"},
        {"infra.outbox_claim('00000000-0000-0000-0000-000000000000', 30, 10)",
         "owner_token: must not be the nil"},
        {"infra.outbox_ack(1::bigint, NULL)", "ids: must not be NULL"},
        {"infra.outbox_ack(NULL::uuid, '{}')", "owner_token: must not be the nil token"},
        {"infra.outbox_abandon(1::bigint, '{}', 'e', interval '0')", "delay: 0 s, must be above 0"},
        {"infra.inbox_enqueue('t', '', 'm', 'x'::text)", "source: must not be empty"},
        {"infra.inbox_enqueue('t', 's', repeat('m', 256), 'x'::text)",
         "message_id: 256 characters"},
        {"infra.inbox_already_processed('', 's')", "message_id: must not be empty"},
    };
    for (const auto& [call, words] : cases)
        EXPECT_THAT(refusal(call), testing::HasSubstr(words)) << call;
}

// Goal: the limit is that of whoever deployed last, above the usual one and below it.
TEST_F(Functions, OBX_096_IBX_118_HoldPayloadsToTheLimitOfTheDeployment) {
    for (const std::size_t limit : {std::size_t{2} * 1024 * 1024, std::size_t{2048}}) {
        OpenOptions options;
        options.limits.max_payload_bytes = limit;
        postgres::open_schema(database.url(), options)->deploy();
        const auto text = [](std::size_t bytes) {
            return "repeat('x', " + std::to_string(bytes) + "))";
        };
        for (const std::string& call :
             {std::string("infra.outbox_enqueue('t', "),
              "infra.inbox_enqueue('t', 's', 'm" + std::to_string(limit) + "', "}) {
            EXPECT_EQ(refusal(call + text(limit)), "accepted");
            EXPECT_THAT(
                refusal(call + text(limit + 1)),
                testing::HasSubstr("payload: " + std::to_string(limit + 1) + " bytes, at most " +
                                   std::to_string(limit) + " allowed (max_payload_bytes)"));
        }
    }
}

// Goal: one form of message ids whoever makes them, so that a message is found by its time.
TEST_F(Functions, AndPlainInsertsMakeMessageIdsAsTheLibraryDoes) {
    session.run("SELECT infra.outbox_enqueue('t', 'x'::text)");
    session.run(
        "INSERT INTO infra.outbox_live (topic, payload) SELECT 't', 'x' FROM generate_series(1, "
        "500)");
    session.run(
        "INSERT INTO infra.outbox_waiting (topic, payload, available_at) VALUES ('t', 'x', "
        "now())");
    std::set<std::string> ids;
    for (const Message& stored : store->find(Queue::outbox, {.limit = 1000})) {
        ids.insert(stored.message_id.str());
        const std::optional<Instant> made = base::ulid_time(stored.message_id.str());
        ASSERT_TRUE(made.has_value()) << stored.message_id.str();
        EXPECT_LE(std::chrono::abs(*made - stored.created_at), std::chrono::seconds{5});
    }
    EXPECT_EQ(ids.size(), 502U);
}

TEST_F(Functions, IdsAreThoseOfTheLibrary) {
    for (const auto& [seq, nonce] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
             {1, 0},
             {1023, ~std::uint64_t{0}},
             {WorkItemId::seq_max, 0x8000000000000001U},
             {5'000'000'000, 1}}) {
        const WorkItemId id(seq, nonce);
        const std::string numbers =
            std::to_string(seq) + ", " + std::to_string(static_cast<std::int64_t>(nonce));
        EXPECT_EQ(session.value("SELECT infra.outbox_item_id(" + numbers + ")"), id.to_string());
        EXPECT_EQ(session.value("SELECT seq || ', ' || nonce FROM infra.outbox_item_parts(ARRAY['" +
                                id.to_string() + "']::uuid[])"),
                  numbers);
    }
    EXPECT_EQ(session.run("SELECT * FROM infra.outbox_item_parts(ARRAY[gen_random_uuid()])").size(),
              0U);
}

TEST_F(Functions, EmptyAndUnknownAndDoubledIdsAreHarmless) {
    session.run("SELECT infra.outbox_enqueue('t', 'x'::text)");
    const SqlRows claimed = session.run(
        std::string("SELECT id, lease_id FROM infra.outbox_claim(") + owner + ", 30, 10)");
    const std::string id = claimed.at(0).at(0).value();
    const std::string lease = claimed.at(0).at(1).value();
    EXPECT_EQ(session.value("SELECT infra.outbox_ack(" + lease + "::bigint, '{}')"), "0");
    EXPECT_EQ(
        session.value("SELECT infra.outbox_ack(" + lease + "::bigint, ARRAY[gen_random_uuid()])"),
        "0");
    EXPECT_EQ(session.value("SELECT infra.outbox_ack(1::bigint, '{" + id + "}')"), "0");
    EXPECT_EQ(
        session.value("SELECT infra.outbox_ack(" + lease + "::bigint, '{" + id + "," + id + "}')"),
        "1");
    EXPECT_EQ(session.value("SELECT infra.outbox_ack(" + lease + "::bigint, '{" + id + "}')"), "0");
}

TEST_F(Functions, WorkUnderAnySearchPath) {
    session.run(
        "CREATE SCHEMA trap; CREATE FUNCTION trap.nextval(regclass) RETURNS bigint LANGUAGE sql AS "
        "'SELECT 1/0'; "
        "CREATE FUNCTION trap.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT "
        "NULL::timestamptz'; "
        "SET search_path = trap, pg_catalog");
    session.run("SELECT infra.outbox_enqueue('t', '{}'::jsonb)");
    EXPECT_EQ(
        session.run(std::string("SELECT * FROM infra.outbox_claim(") + owner + ", 30, 10)").size(),
        1U);
}

TEST_F(Functions, AClaimRefusesALongerTransactionAndOtherIsolation) {
    const auto state = [&](const std::string& before) {
        std::string sqlstate = "accepted";
        session.run(before);
        try {
            session.run(std::string("SELECT * FROM infra.outbox_claim(") + owner + ", 30, 10)");
        } catch (const SqlError& error) {
            sqlstate = error.sqlstate();
        }
        session.run("ROLLBACK");
        return sqlstate;
    };
    session.run("CREATE TABLE business (id int)");
    EXPECT_EQ(state("BEGIN ISOLATION LEVEL REPEATABLE READ"), "25000");
    EXPECT_EQ(state("BEGIN ISOLATION LEVEL SERIALIZABLE"), "25000");
    EXPECT_EQ(state("BEGIN; INSERT INTO business VALUES (1)"), "25001");
    session.run("BEGIN");
    EXPECT_EQ(state("SELECT pg_sleep(5.1)"), "25001");
}

TEST_F(Functions, AHoldRefusesOtherIsolation) {
    const std::string hold =
        std::string("SELECT infra.outbox_do_hold('{}', '{}', 1, ") + owner + ", 1000)";
    for (const char* const level : {"REPEATABLE READ", "SERIALIZABLE"}) {
        session.run(std::string("BEGIN ISOLATION LEVEL ") + level);
        std::string sqlstate = "accepted";
        try {
            session.run(hold);
        } catch (const SqlError& error) {
            sqlstate = error.sqlstate();
        }
        session.run("ROLLBACK");
        EXPECT_EQ(sqlstate, "25000") << level;
    }
    EXPECT_TRUE(session.run(hold).empty());
}

TEST_F(Functions, AckSurvivesAHistoryThatCannotBeKept) {
    session.run("SELECT infra.outbox_enqueue('t', 'x'::text)");
    const SqlRows claimed = session.run(
        std::string("SELECT id, lease_id FROM infra.outbox_claim(") + owner + ", 30, 10)");
    session.run("ALTER TABLE infra.outbox_done ADD CONSTRAINT full_up CHECK (false) NOT VALID");
    EXPECT_EQ(session.value("SELECT infra.outbox_ack(" + claimed[0][1].value() + "::bigint, '{" +
                            claimed[0][0].value() + "}')"),
              "1");
    EXPECT_EQ(session.value("SELECT count(*) FROM infra.outbox_live"), "0");
}

// A day of history of long ago with `messages` in it.
void make_old_day(Session& session, const std::string& day, const std::string& messages) {
    session.run("CREATE TABLE infra.outbox_done_p" + day +
                " PARTITION OF infra.outbox_done FOR VALUES FROM ('" + day + " 00:00+00') TO ('" +
                day + " 24:00+00')");
    session.run(
        "INSERT INTO infra.outbox_done (seq, nonce, created_at, processed_at, available_at, "
        "priority, retry_count, lost_count, message_id, topic, tenant_id, aggregate_type, "
        "content_type, payload) SELECT g, g, day, day, day, 0, 0, 0, 'm', 't', '', '', '', '' FROM "
        "generate_series(1, " +
        messages + ") g, CAST('" + day + " 12:00+00' AS timestamptz) day");
}

TEST_F(Functions, HistoryGoesIntoPartitionsThatThePurgeDropsWhole) {
    EXPECT_EQ(
        session.value(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'infra.outbox_done'::regclass"),
        "9");
    make_old_day(session, "20200101", "50");
    const PurgeResult result =
        store->purge(Queue::outbox, {.older_than = std::chrono::hours{24}, .batch = 1000});
    EXPECT_EQ(result.purged, 50U);
    EXPECT_EQ(session.value("SELECT to_regclass('infra.outbox_done_p20200101') IS NULL"), "t");
}

TEST_F(Functions, APurgeGoesOnUntilNoOldDayIsLeft) {
    make_old_day(session, "20200101", "5");
    make_old_day(session, "20200102", "0");
    make_old_day(session, "20200103", "7");
    EXPECT_EQ(Outbox(*store).purge(std::chrono::hours{24}, 1000), 12U);
    make_old_day(session, "20200102", "0");
    make_old_day(session, "20200103", "7");
    EXPECT_EQ(session.value("SELECT infra.outbox_purge(interval '1 day')"), "7");
}

TEST_F(Functions, AnEmptyDayThatCannotGoKeepsNoOther) {
    make_old_day(session, "20200101", "0");
    make_old_day(session, "20200102", "0");
    session.run("CREATE VIEW of_a_user AS SELECT seq FROM infra.outbox_done_p20200101");
    EXPECT_EQ(session.value("SELECT infra.outbox_purge(interval '1 day')"), "0");
    EXPECT_EQ(session.value("SELECT to_regclass('infra.outbox_done_p20200101') IS NULL"), "f");
    EXPECT_EQ(session.value("SELECT to_regclass('infra.outbox_done_p20200102') IS NULL"), "t");
}

// As on the first purge after midnight, when a day ahead is missing.
TEST_F(Functions, APurgeThatMakesTheDaysAheadPurgesToo) {
    const std::string last = session.value(
        "SELECT 'infra.outbox_done_p' || to_char((now() AT TIME ZONE 'UTC')::date + 7, "
        "'YYYYMMDD')");
    session.run("DROP TABLE " + last);
    make_old_day(session, "20200101", "50");
    EXPECT_EQ(session.value("SELECT infra.outbox_purge(interval '1 day')"), "50");
    EXPECT_EQ(session.value("SELECT infra.outbox_purge(interval '1 day')"), "0");
    EXPECT_EQ(session.value("SELECT to_regclass('" + last + "') IS NOT NULL"), "t");
}

}  // namespace
}  // namespace postroom::test
