// Classic outbox tables are taken over, and given the keys they lack.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "postroom/open_store.hpp"
#include "program/program_on.hpp"
#include "support/scale.hpp"

namespace postroom::test::adopt_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

std::string uuid(int number) { return fmt::format("00000000-0000-4000-8000-{:012}", number); }

class AdoptOn : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        folder.good({"migrate", "up"});
    }

    // $UUID, $BOOL, $TIME and $JSON stand for what the database has.
    void create(const std::string& ddl) const {
        const std::size_t kind = on("sqlite") ? 0 : on("postgres") ? 1 : 2;
        const char* const types[][3] = {{"TEXT", "uuid", "CHAR(36)"},
                                        {"INTEGER", "boolean", "TINYINT(1)"},
                                        {"TEXT", "timestamptz", "DATETIME(6)"},
                                        {"TEXT", "json", "JSON"}};
        std::string text = replaced(ddl, "$UUID", types[0][kind]);
        text = replaced(text, "$BOOL", types[1][kind]);
        text = replaced(text, "$TIME", types[2][kind]);
        sql(replaced(text, "$JSON", types[3][kind]));
    }

    std::string show(const std::string& id) const {
        return folder.good({"show", id, "--json", "--payload"});
    }

    Ran adopt(std::vector<std::string> more) const {
        more.insert(more.begin(), {"migrate", "adopt"});
        return folder.run(more);
    }
};

TEST_P(AdoptOn, ATableWithStatesAndLocks) {
    create(
        "CREATE TABLE legacy (Id $UUID PRIMARY KEY, Topic VARCHAR(255) NOT NULL, Payload TEXT NOT "
        "NULL, CreatedAt $TIME NOT NULL, Status SMALLINT NOT NULL DEFAULT 0, LockedUntil $TIME, "
        "IsProcessed $BOOL NOT NULL DEFAULT FALSE, ProcessedAt $TIME, RetryCount INT NOT NULL "
        "DEFAULT 0, NextAttemptAt $TIME, MessageId $UUID, CorrelationId VARCHAR(255), DueTimeUtc "
        "$TIME)");
    const auto insert = [this](int number, int status, const std::string& locked,
                               const std::string& next) {
        sql(
            fmt::format("INSERT INTO legacy (Id, Topic, Payload, CreatedAt, Status, LockedUntil, "
                        "NextAttemptAt, MessageId, CorrelationId) VALUES ('{}', 'order.placed', "
                        "'{{\"n\":{}}}', '2024-05-0{} 10:00:00', {}, {}, '{}', '{}', 'c')",
                        uuid(number), number, number, status, locked, next, uuid(number + 100)));
    };
    const std::string past = "2024-06-01 10:00:00";
    insert(1, 0, "NULL", past);
    insert(2, 1, "'2024-06-01 10:00:00'", past);  // its worker is gone
    insert(3, 1, "'2999-01-01 00:00:00'", past);  // its worker is at work
    insert(4, 2, "NULL", past);
    insert(5, 3, "NULL", past);
    insert(6, 0, "NULL", "2999-01-01 00:00:00");

    const std::vector<std::string> command{"--shape", "outbox", "--table", "legacy"};
    std::vector<std::string> dry = command;
    dry.emplace_back("--dry-run");
    EXPECT_EQ(
        adopt(dry).out,
        "would take over 3 rows of legacy; 1 dead rows stay where they are (--dead takes them "
        "too)\n");
    EXPECT_EQ(listed(), 0U);
    EXPECT_THAT(adopt(command).out, HasSubstr("3 rows of legacy taken over"));
    EXPECT_EQ(listed(), 3U);
    const std::string first = show(uuid(101));
    EXPECT_THAT(first, HasSubstr("\"payload\":{\"n\":1}"));
    EXPECT_THAT(first, HasSubstr("\"correlation_id\":\"c\""));
    EXPECT_THAT(first, HasSubstr("\"occurred_at\":\"2024-05-01T10:00:00"));
    EXPECT_THAT(folder.good({"explain", uuid(106)}), HasSubstr("not due yet: due at 2999-01-01"));
    EXPECT_EQ(one_value("SELECT count(*) FROM legacy WHERE Status = 2 AND IsProcessed AND "
                        "ProcessedAt IS NOT NULL"),
              "3");
    EXPECT_THAT(adopt(command).out, HasSubstr("0 rows of legacy taken over"));
    std::vector<std::string> dead = command;
    dead.emplace_back("--dead");
    EXPECT_EQ(adopt(dead).out, "1 rows of legacy taken over\n");
    EXPECT_EQ(listed(), 4U);
}

TEST_P(AdoptOn, ATableOfEventsWithHeadersAndAggregates) {
    create(
        "CREATE TABLE outbox_event (event_id VARCHAR(36) PRIMARY KEY, event_type VARCHAR(128) NOT "
        "NULL, aggregate_type VARCHAR(64), aggregate_id VARCHAR(128), tenant_id VARCHAR(64), "
        "payload $JSON NOT NULL, headers $JSON, status SMALLINT NOT NULL, attempts INT NOT NULL "
        "DEFAULT 0, available_at $TIME NOT NULL, created_at $TIME NOT NULL, done_at $TIME, "
        "last_error TEXT, locked_by VARCHAR(128), locked_at $TIME)");
    sql("INSERT INTO outbox_event (event_id, event_type, aggregate_type, aggregate_id, tenant_id, "
        "payload, headers, status, available_at, created_at, locked_at) VALUES "
        "('01HX0000000000000000000001', 'UserCreated', 'User', '7', 't1', '{\"name\":\"Jörg\"}', "
        "'{\"trace\":\"abc\"}', 0, '2024-01-01 00:00:00', '2024-01-01 00:00:00', NULL), "
        "('01HX0000000000000000000002', 'UserCreated', NULL, NULL, NULL, '1', NULL, 2, "
        "'2024-01-01 00:00:00', '2024-01-02 00:00:00', '2024-01-02 00:00:00'), "
        "('01HX0000000000000000000003', 'UserCreated', NULL, NULL, NULL, '1', NULL, 1, "
        "'2024-01-01 00:00:00', '2024-01-02 00:00:00', NULL), "
        "('01HX0000000000000000000004', 'UserCreated', NULL, NULL, NULL, '1', NULL, 0, "
        "'2024-01-01 00:00:00', '2024-01-02 00:00:00', '2999-01-01 00:00:00')");
    std::vector<std::string> command{
        "--shape", "outbox_event", "--map", "ordering_key=aggregate_id", "--remove", "--json"};
    const Ran unasked = adopt(command);
    EXPECT_EQ(unasked.code, 2);
    EXPECT_THAT(unasked.err, HasSubstr("migrate adopt asks first, and there is no terminal"));
    const Ran refused =
        folder.on_terminal({"migrate", "adopt", "--shape", "outbox_event", "--remove"}, "n");
    EXPECT_THAT(refused.out, HasSubstr("take over 2 rows of outbox_event and remove them there?"));
    EXPECT_EQ(one_value("SELECT count(*) FROM outbox_event"), "4") << "nothing was done";
    command.emplace_back("--yes");
    const Ran ran = adopt(command);
    EXPECT_EQ(ran.out,
              "{\"table\":\"outbox_event\",\"pending\":2,\"dead\":0,\"adopted\":2,"
              "\"enqueued\":2,\"dry_run\":false}\n")
        << ran.err;
    const std::string first = show("01HX0000000000000000000001");
    EXPECT_THAT(first, HasSubstr("\"topic\":\"UserCreated\""));
    EXPECT_THAT(first, HasSubstr("Jörg"));
    EXPECT_THAT(first, HasSubstr("\"trace\":\"abc\""));
    EXPECT_THAT(first, HasSubstr("\"aggregate_type\":\"User\""));
    EXPECT_THAT(first, HasSubstr("\"tenant_id\":\"t1\""));
    EXPECT_THAT(first, HasSubstr("\"ordering_key\":\"7\""));
    EXPECT_EQ(one_value("SELECT count(*) FROM outbox_event"), "2") << "done and leased rows stay";
}

TEST_P(AdoptOn, ATableThatCountsItsRetries) {
    create(
        "CREATE TABLE outboxevents (Id INTEGER PRIMARY KEY, EventType VARCHAR(200), EventData "
        "TEXT, CreatedAt $TIME, IsProcessed $BOOL, ProcessedAt $TIME, RetryCount INT, MaxRetries "
        "INT, NextRetryAt $TIME, LastError TEXT)");
    sql("INSERT INTO outboxevents (Id, EventType, EventData, CreatedAt, IsProcessed, RetryCount, "
        "MaxRetries, NextRetryAt) VALUES (1, 'Reserved', '1', '2024-01-01 00:00:00', FALSE, 0, 3, "
        "NULL), (2, 'Reserved', '2', '2024-01-01 00:00:00', FALSE, 2, 3, '2024-01-01 00:00:00'), "
        "(3, "
        "'Reserved', '3', '2024-01-01 00:00:00', FALSE, 3, 3, NULL), (4, 'Reserved', '4', "
        "'2024-01-01 "
        "00:00:00', TRUE, 0, 3, NULL)");
    EXPECT_THAT(adopt({"--shape", "outbox_events", "--table", "outboxevents"}).out,
                HasSubstr("2 rows of outboxevents taken over; 1 dead rows stay"));
    EXPECT_EQ(listed(), 2U);
    const std::string all = folder.good({"list", "--json"});
    EXPECT_EQ(count_of(all, "\"max_attempts\":3"), 2U);
    EXPECT_EQ(text_member(all, "message_id").size(), 36U) << "17 is no id for the whole world";
}

TEST_P(AdoptOn, O9_O1_KeysAreTakenAlongAndBackfilled) {
    create(
        "CREATE TABLE outboxmessages (Id $UUID PRIMARY KEY, TenantId VARCHAR(50), EventType "
        "VARCHAR(200), Payload $JSON, CreatedAt $TIME, RetryCount INT DEFAULT 0, IdempotencyKey "
        "$UUID, ProcessedAt $TIME, Error TEXT)");
    const auto insert = [this](int number, const std::string& tenant, const std::string& key) {
        sql(
            fmt::format("INSERT INTO outboxmessages (Id, TenantId, EventType, Payload, CreatedAt, "
                        "IdempotencyKey) VALUES ('{}', '{}', 'published', '{{}}', '2024-01-01 "
                        "00:00:0{}', {})",
                        uuid(number), tenant, number, key));
    };
    insert(1, "a", "'" + uuid(77) + "'");
    insert(2, "b", "'" + uuid(77) + "'");
    insert(3, "a", "NULL");
    const std::vector<std::string> table{"--shape", "outbox_messages", "--table", "outboxmessages"};
    const auto with = [&](std::vector<std::string> words) {
        words.insert(words.end(), table.begin(), table.end());
        return words;
    };
    EXPECT_THAT(folder.good(with({"migrate", "adopt"})), HasSubstr("3 rows"));
    EXPECT_EQ(listed(), 3U);
    EXPECT_THAT(show(uuid(1)), HasSubstr("\"idempotency_key\":\"" + uuid(77) + "\""));
    EXPECT_THAT(show(uuid(2)), HasSubstr("\"tenant_id\":\"b\""));
    const std::string given = text_member(show(uuid(3)), "idempotency_key");
    EXPECT_NE(given, uuid(3));

    // The same thing announced again by an old writer, and a row that comes back from a backup.
    insert(4, "a", "'" + uuid(77) + "'");
    sql("UPDATE outboxmessages SET ProcessedAt = NULL WHERE IdempotencyKey IS NULL");
    EXPECT_THAT(
        folder.good(with({"migrate", "adopt"})),
        HasSubstr("2 rows of outboxmessages taken over, 2 of them were messages here already"));
    EXPECT_EQ(listed(), 3U);

    insert(5, "a", "NULL");
    EXPECT_EQ(folder.good(with({"backfill", "--dry-run"})),
              "would give 2 rows of outboxmessages an idempotency key\n");
    EXPECT_EQ(folder.good(with({"backfill", "--chunk", "1"})),
              "2 rows of outboxmessages were given an idempotency key\n");
    EXPECT_EQ(folder.good(with({"backfill", "--json"})),
              "{\"table\":\"outboxmessages\",\"missing\":0,\"filled\":0,\"dry_run\":false}\n");
    EXPECT_EQ(one_value("SELECT IdempotencyKey FROM outboxmessages WHERE Id = '" + uuid(3) + "'"),
              given)
        << "as the adoption gave it";
    EXPECT_EQ(one_value("SELECT count(DISTINCT IdempotencyKey) FROM outboxmessages"), "3");
}

// Quoted names, numbers for tenants, times without a zone or as numbers, UUIDs as bytes.
TEST_P(AdoptOn, NamesIdsAndTimesAsFrameworksMakeThem) {
    const std::string name = on("mariadb") ? "`OutboxMessages`" : "\"OutboxMessages\"";
    const auto quote = [&](std::string text) {
        return on("mariadb") ? replaced(std::move(text), "\"", "`") : text;
    };
    const std::string bytes = on("sqlite") ? "BLOB" : on("postgres") ? "uuid" : "BINARY(16)";
    const std::string time = on("sqlite") ? "INTEGER" : on("postgres") ? "timestamp" : "DATETIME";
    create(
        quote("CREATE TABLE \"OutboxMessages\" (\"Id\" " + bytes +
              " PRIMARY KEY, \"TenantId\" INTEGER, \"EventType\" VARCHAR(100), \"Payload\" $JSON, "
              "\"CreatedAt\" " +
              time + ", \"IsProcessed\" $BOOL, \"ProcessedAt\" " + time + ", \"IdempotencyKey\" " +
              bytes + ")"));
    const std::string id =
        on("postgres") ? "'" + uuid(1) + "'" : "X'" + replaced(uuid(1), "-", "") + "'";
    const std::string at = on("sqlite") ? "1714557600000" : "'2024-05-01 10:00:00'";
    sql(fmt::format(
        "INSERT INTO {} VALUES ({}, 7, 'published', '{{\"a\":1}}', {}, FALSE, NULL, NULL)", name,
        id, at));
    EXPECT_EQ(folder.good({"backfill", "--shape", "outbox_messages"}),
              "1 rows of OutboxMessages were given an idempotency key\n");
    EXPECT_EQ(folder.good({"migrate", "adopt", "--shape", "outbox_messages"}),
              "1 rows of OutboxMessages taken over\n");
    const std::string shown = show(uuid(1));
    EXPECT_THAT(shown, HasSubstr("\"tenant_id\":\"7\""));
    EXPECT_THAT(shown, HasSubstr("\"occurred_at\":\"2024-05-01T10:00:00.000Z\""));
    EXPECT_EQ(text_member(shown, "idempotency_key").size(), 36U);
    EXPECT_EQ(
        one_value(quote(fmt::format(
            "SELECT count(*) FROM {} WHERE \"IsProcessed\" AND \"ProcessedAt\" IS NOT NULL AND "
            "\"IdempotencyKey\" IS NOT NULL",
            name))),
        "1");
}

// Chunks while somebody writes, ended again and again in the middle.
TEST_P(AdoptOn, NothingIsLostOrDoubledByKillsWhileWritersGoOn) {
    create(
        "CREATE TABLE events (nr INTEGER PRIMARY KEY, kind VARCHAR(50), body TEXT, done $BOOL "
        "DEFAULT FALSE)");
    const int before = static_cast<int>(scaled(5000, 400));
    const int meanwhile = before / 4;
    const auto rows = [](int from, int to) {
        std::string text = "INSERT INTO events (nr, kind, body) VALUES ";
        for (int nr = from; nr < to; ++nr)
            text += fmt::format("{}({}, 'k', '{}')", nr == from ? "" : ", ", nr, nr);
        return text;
    };
    sql(rows(0, before));
    int total = before + meanwhile;
    const std::vector<std::string> command{
        "migrate", "adopt",      "--table", "events",       "--map", "id=nr",
        "--map",   "topic=kind", "--map",   "payload=body", "--map", "is_processed=done",
        "--chunk", "4"};
    std::thread writer([&] {
        for (int i = 0; i < meanwhile; i += 10)
            sql(rows(before + i, std::min(before + i + 10, before + meanwhile)));
    });
    const auto done = [&] {
        return std::stoi(one_value("SELECT count(*) FROM events WHERE done"));
    };
    // A test that stands still for a moment kills too late: then there is more to do, and it tries
    // again.
    int amid = 0;  // kills that met it at work
    for (int i = 0; i < 12 && amid < 3; ++i) {
        const int begun = done();
        if (begun > total - before / 2) {
            sql(rows(total, total + before));
            total += before;
        }
        ChildProcess child = folder.start(command);
        bool ended = false;
        while (!ended && done() == begun)
            ended = child.wait(std::chrono::milliseconds{1}).has_value();
        child.kill(SIGKILL);
        ASSERT_TRUE(ended || child.wait(std::chrono::seconds{60}));
        const int now = done();
        if (!ended && now > begun && now < total) ++amid;
    }
    writer.join();
    EXPECT_GT(amid, 0) << "no kill came in the middle";
    const std::string last = folder.good(command);
    EXPECT_THAT(last, HasSubstr("taken over"));
    EXPECT_THAT(last, Not(HasSubstr("already"))) << "a chunk was done half";
    EXPECT_EQ(done(), total);
    EXPECT_THAT(folder.good({"status", "--queue", "outbox", "--json"}),
                HasSubstr(fmt::format("\"ready\":{},", total)));
}

TEST_P(AdoptOn, AMistakeIsToldAndNothingIsDone) {
    create(
        "CREATE TABLE odd (nr INTEGER PRIMARY KEY, kind VARCHAR(50), body TEXT, done $BOOL DEFAULT "
        "FALSE)");
    sql("INSERT INTO odd (nr, kind, body) VALUES (1, 'k', '1'), (2, '', '2')");
    const auto fails = [&](const std::vector<std::string>& more, int code,
                           const std::string& what) {
        const Ran ran = adopt(more);
        EXPECT_EQ(ran.code, code) << what << ran.err;
        EXPECT_THAT(ran.err, HasSubstr(what));
        EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
    };
    fails({}, 2, "--shape must be one of outbox, outbox_event");
    fails({"--shape", "outbox", "--table", "nowhere"}, 4, "has no table 'nowhere'");
    fails({"--table", "odd"}, 2, "which column of odd is the id? Name it with --map id=...");
    fails({"--table", "odd", "--map", "topik=kind"}, 2,
          "there is no 'topik'; did you mean 'topic'?");
    fails({"--table", "odd", "--map", "topic=knid"}, 2,
          "table odd has no column 'knid'; did you mean 'kind'?");
    const std::vector<std::string> good{"--table", "odd",        "--map", "id=nr",
                                        "--map",   "topic=kind", "--map", "payload=body"};
    fails(good, 2, "no column of odd tells that a row was processed");
    std::vector<std::string> marked = good;
    marked.insert(marked.end(), {"--map", "is_processed=done"});
    fails(marked, 7, "row '2' of table odd: topic: must not be empty; 0 rows were taken over");
    EXPECT_EQ(listed(), 0U);
    EXPECT_EQ(one_value("SELECT count(*) FROM odd WHERE done"), "0");
    std::vector<std::string> backfill{"backfill"};
    backfill.insert(backfill.end(), good.begin(), good.end());
    EXPECT_THAT(folder.run(backfill).err, HasSubstr("odd has no column for the key"));
}

constexpr const char* states_table =
    "CREATE TABLE states (nr INTEGER PRIMARY KEY, kind VARCHAR(50), body TEXT, state VARCHAR(20), "
    "code SMALLINT, at $TIME)";

std::vector<std::string> on_states(std::vector<std::string> more) {
    more.insert(more.begin(), {"--table", "states", "--map", "id=nr", "--map", "topic=kind",
                               "--map", "payload=body"});
    return more;
}

TEST_P(AdoptOn, WhatWasDeliveredIsNeverTakenHoweverTheStatusIsTold) {
    create(states_table);
    sql("INSERT INTO states (nr, kind, body, state, code) VALUES (1, 'k', '1', 'Done', 2), "
        "(2, 'k', '2', 'Done', 2), (3, 'k', '3', NULL, 0), (4, 'k', '4', 'new', 0)");
    const std::string status = "status=state";
    const auto misused = [&](const std::vector<std::string>& more, const std::string& what) {
        const Ran ran = adopt(on_states(more));
        EXPECT_EQ(ran.code, 2) << ran.err;
        EXPECT_THAT(ran.err, HasSubstr(what));
    };
    misused({"--map", status, "--finished", "Done"}, "say which values wait for delivery");
    misused({"--map", status, "--remove"}, "say which values wait for delivery");
    misused({"--map", status, "--pending", "new, Done", "--finished", "Done"},
            "'Done' cannot both");
    misused({"--map", status, "--pending", "new,", "--finished", "Do'ne"}, "numbers or words");
    misused({"--map", status, "--pending", "", "--finished", "Done"},
            "--pending has an empty value");
    misused({"--map", "status=code", "--pending", "new", "--finished", "2"}, "'new' is no number");
    misused({"--map", "processed_at=at", "--pending", "new"}, "no column of states is the status");
    EXPECT_EQ(adopt({"--table", "a\"`b", "--map", "id=nr"}).code, 2);
    EXPECT_EQ(listed(), 0U);
    EXPECT_EQ(one_value("SELECT count(*) FROM states WHERE state = 'Done'"), "2");

    EXPECT_EQ(adopt(on_states({"--map", status, "--pending", "0,1", "--finished", "Done"})).out,
              "0 rows of states taken over\n")
        << "a word is not the number 0";
    // Another marker tells what was delivered too, and old rows have the status alone.
    EXPECT_EQ(adopt(on_states({"--map", status, "--map", "processed_at=at", "--finished", "Done",
                               "--dead-status", "lost"}))
                  .out,
              "2 rows of states taken over\n");
    EXPECT_EQ(listed(), 2U);
    EXPECT_EQ(one_value("SELECT count(*) FROM states WHERE at IS NULL AND nr < 3"), "2");
    sql("INSERT INTO states (nr, kind, body, state) VALUES (5, 'k', '5', 'new'), "
        "(6, 'k', '6', 'again')");
    EXPECT_EQ(
        adopt(on_states({"--map", status, "--pending", " new , again", "--finished", "Done "})).out,
        "2 rows of states taken over\n");
    EXPECT_EQ(one_value("SELECT count(*) FROM states WHERE state = 'Done'"), "6");
}

TEST_P(AdoptOn, AnIdThatIsNotUniqueIsToldAndNothingIsDone) {
    create(
        "CREATE TABLE twins (nr INTEGER, kind VARCHAR(50), body TEXT, done $BOOL DEFAULT FALSE, "
        "idem VARCHAR(50))");
    sql("INSERT INTO twins (nr, kind, body) VALUES (1, 'k', '1'), (2, 'k', '2'), (2, 'k', '3')");
    const std::vector<std::string> table{
        "--table",    "twins", "--map",        "id=nr", "--map",
        "topic=kind", "--map", "payload=body", "--map", "is_processed=done"};
    const auto refused = [&](std::vector<std::string> words) {
        words.insert(words.end(), table.begin(), table.end());
        const Ran ran = folder.run(words);
        EXPECT_EQ(ran.code, 7) << ran.err;
        EXPECT_THAT(ran.err, HasSubstr("is not unique"));
    };
    refused({"migrate", "adopt"});
    refused({"migrate", "adopt", "--remove", "--yes"});
    refused({"backfill", "--map", "idempotency_key=idem"});
    sql("UPDATE twins SET done = TRUE WHERE body = '3'");
    refused({"migrate", "adopt"});
    EXPECT_EQ(listed(), 0U);
    EXPECT_EQ(one_value("SELECT count(*) FROM twins WHERE idem IS NULL AND (body = '3') = done"),
              "3");
}

TEST_P(AdoptOn, AKeyFollowsFromTheTableHoweverItIsSpelled) {
    create(states_table);
    sql("INSERT INTO states (nr, kind, body) VALUES (1, 'k', '1')");
    const std::string schema = on("sqlite")     ? "main"
                               : on("postgres") ? one_value("SELECT current_schema()")
                                                : one_value("SELECT DATABASE()");
    const std::vector<std::string> command = on_states({"--map", "processed_at=at"});
    EXPECT_EQ(adopt(command).out, "1 rows of states taken over\n");
    sql("UPDATE states SET at = NULL");
    std::vector<std::string> spelled = command;
    spelled[1] = schema + ".states";
    EXPECT_THAT(adopt(spelled).out, HasSubstr("1 of them were messages here already"));
    EXPECT_EQ(listed(), 1U);
}

POSTROOM_ON_ALL_DATABASES(AdoptOn);

// A column of SQLite holds whatever was put into it.
class AdoptOnSqlite : public AdoptOn {};

TEST_P(AdoptOnSqlite, IdsAreFoundAgainWhateverTheirColumnSays) {
    for (const std::string type : {"BLOB", "", "GUID", "INTEGER"}) {
        SCOPED_TRACE(type);
        sql("DROP TABLE IF EXISTS loose");
        sql("CREATE TABLE loose (id " + type + ", kind TEXT, body TEXT, at TEXT, idem TEXT)");
        sql("INSERT INTO loose (id, kind, body) VALUES ('abc" + type +
            "', 'k', '1'), (5, 'k', '2'), "
            "(X'00112233445566778899aabbccddeeff', 'k', '3'), (NULL, 'k', NULL)");
        const std::vector<std::string> table{"--table", "loose",        "--map", "topic=kind",
                                             "--map",   "payload=body", "--map", "id=id"};
        std::vector<std::string> backfill{"backfill", "--map", "idempotency_key=idem"};
        backfill.insert(backfill.end(), table.begin(), table.end());
        EXPECT_EQ(folder.good(backfill), "3 rows of loose were given an idempotency key\n");
        std::vector<std::string> command = table;
        command.insert(command.end(), {"--map", "processed_at=at"});
        const Ran nameless = adopt(command);
        EXPECT_EQ(nameless.code, 7);
        EXPECT_THAT(nameless.err, HasSubstr("a row that waits has no id"));
        sql("DELETE FROM loose WHERE id IS NULL");
        EXPECT_THAT(adopt(command).out, HasSubstr("3 rows of loose taken over"));
    }
}

TEST_P(AdoptOnSqlite, AChunkOfLargePayloadsIsCutAndOneThatIsTooLargeIsNamed) {
    sql("CREATE TABLE large (nr INTEGER PRIMARY KEY, kind TEXT, body TEXT, at TEXT)");
    sql("WITH RECURSIVE n (nr) AS (SELECT 1 UNION ALL SELECT nr + 1 FROM n WHERE nr < 21) INSERT "
        "INTO large (nr, kind, body) SELECT nr, 'k', printf('%.*c', iif(nr < 21, 900000, 1100000), "
        "'x') FROM n");
    const std::vector<std::string> command{"--table", "large",          "--map", "id=nr",
                                           "--map",   "topic=kind",     "--map", "payload=body",
                                           "--map",   "processed_at=at"};
    const Ran ran = adopt(command);
    EXPECT_EQ(ran.code, 7);
    EXPECT_THAT(ran.err, HasSubstr("row '21' of table large: payload: larger than"));
    EXPECT_THAT(ran.err, HasSubstr("18 rows were taken over before it")) << "16 MiB at a time";
    EXPECT_EQ(listed(), 18U);
}

TEST_P(AdoptOnSqlite, CountingWaitsForNoWriterAndKeepsNoneWaiting) {
    create(states_table);
    sql("INSERT INTO states (nr, kind, body) VALUES (1, 'k', '1')");
    const std::unique_ptr<Store> other = open_store(url());
    const std::unique_ptr<Transaction> writer = other->begin();
    const Ran ran = adopt(on_states({"--map", "processed_at=at", "--dry-run"}));
    EXPECT_EQ(ran.out, "would take over 1 rows of states\n") << ran.err;
    writer->commit();
}

INSTANTIATE_TEST_SUITE_P(Sqlite, AdoptOnSqlite, testing::Values("sqlite"));

// Rows that somebody holds are waited for, not forgotten.
class AdoptOnServers : public AdoptOn {};

TEST_P(AdoptOnServers, RowsThatSomebodyHoldsAreTakenOnceTheyAreFree) {
    create(states_table);
    sql("INSERT INTO states (nr, kind, body) VALUES (1, 'k', '1'), (2, 'k', '2')");
    const std::unique_ptr<Store> other = open_store(url());
    for (const std::string more : {"kind", "ordering"}) {
        SCOPED_TRACE(more);
        sql("UPDATE states SET at = NULL");
        const std::unique_ptr<Transaction> holder = other->begin();
        holder->execute({.sql = "SELECT nr FROM states FOR UPDATE", .params = {}});
        std::vector<std::string> command = on_states({"--map", "processed_at=at"});
        if (more == "ordering") command.insert(command.end(), {"--map", "ordering_key=state"});
        command.insert(command.begin(), {"migrate", "adopt"});
        ChildProcess child = folder.start(command);
        EXPECT_FALSE(child.wait(std::chrono::milliseconds{500})) << "it gave up";
        holder->commit();
        const std::optional<ExitStatus> status = child.wait(std::chrono::seconds{90});
        EXPECT_TRUE(status && status->success()) << folder.read("err");
        EXPECT_EQ(one_value("SELECT count(*) FROM states WHERE at IS NOT NULL"), "2");
    }
    EXPECT_EQ(listed(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Postgres, AdoptOnServers, testing::Values("postgres"));
#ifdef POSTROOM_TEST_MYSQL
INSTANTIATE_TEST_SUITE_P(Mariadb, AdoptOnServers, testing::Values("mariadb"));
#endif

}  // namespace
}  // namespace postroom::test::adopt_test
