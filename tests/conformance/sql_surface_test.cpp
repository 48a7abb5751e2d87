// What the database shows to others: plain INSERT, views, statements for any driver.
#include <set>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(SqlSurfaceLaw, APlainInsertOfTopicAndPayloadIsAMessage) {
    sql("INSERT INTO " + table("outbox_live") + " (topic, payload) VALUES ('plain', " +
        payload("{}") + ")");
    const Message message = claim_one();
    EXPECT_EQ(message.topic, "plain");
    EXPECT_EQ(message.payload, "{}");
    EXPECT_EQ(message.content_type, "application/json");
    EXPECT_EQ(message.aggregate_type, "__GLOBAL__");
    EXPECT_EQ(message.tenant_id, "");
    EXPECT_EQ(message.priority, 0);
    // A ULID; on SQLite a UUID.
    EXPECT_THAT(message.message_id.str(), testing::AnyOf(SizeIs(26), SizeIs(36)));
    EXPECT_NE(message.id.nonce(), 0U);
    EXPECT_GE(message.created_at, now() - 1min);
    EXPECT_THAT(outbox().ack(leases_of(message)), testing::ElementsAre(Settled::done));
}

TEST_P(SqlSurfaceLaw, PlainInsertsGetIdsOfTheirOwn) {
    for (int i = 0; i < 3; ++i)
        sql("INSERT INTO " + table("outbox_live") + " (topic, payload) VALUES ('t', " +
            payload("") + ")");
    std::set<MessageId> message_ids;
    std::set<std::uint64_t> nonces;
    for (const Message& message : claim()) {
        message_ids.insert(message.message_id);
        nonces.insert(message.id.nonce());
    }
    EXPECT_THAT(message_ids, SizeIs(3));
    EXPECT_THAT(nonces, SizeIs(3));
}

TEST_P(SqlSurfaceLaw, TheTableItselfRefusesWhatTheLibraryRefuses) {
    const std::string insert = "INSERT INTO " + table("outbox_live");
    const std::string p = payload("p");
    EXPECT_ANY_THROW(sql(insert + " (topic, payload) VALUES ('', " + p + ")"));
    EXPECT_ANY_THROW(sql(insert + " (topic, payload) VALUES (NULL, " + p + ")"));
    EXPECT_ANY_THROW(sql(insert + " (topic) VALUES ('t')"));
    EXPECT_ANY_THROW(
        sql(insert + " (topic, payload) VALUES ('" + std::string(256, 't') + "', " + p + ")"));
    EXPECT_ANY_THROW(sql(insert + " (topic, payload, max_attempts) VALUES ('t', " + p + ", 0)"));
    if (!sql_sandbox().one_table()) {
        EXPECT_ANY_THROW(sql(insert + " (topic, payload, priority) VALUES ('t', " + p + ", -1)"));
    }
    EXPECT_THAT(claim(), IsEmpty());
}

// Goal: whoever writes without the library is held to (tenant, key) by the database itself.
// Method: plain INSERTs against each other, against the library, and after the delivery. Where the
// database cannot compare the keys of plain INSERTs it takes none.
TEST_P(PlainKeyLaw, O1_ASecondPlainInsertWithTheSameTenantAndKeyIsRefused) {
    const auto insert = [&](const std::string& tenant, const std::string& key) {
        sql("INSERT INTO " + table("outbox_live") +
            " (topic, payload, tenant_id, idempotency_key) VALUES ('t', " + payload("p") + ", '" +
            tenant + "', '" + key + "')");
    };
    if (sql_sandbox().refuses_plain_keys()) {
        EXPECT_THAT(thrown([&] { insert("acme", "k"); }),
                    testing::HasSubstr("key_goes_through_enqueue"));
        EXPECT_THAT(claim(), IsEmpty());
        return;
    }
    insert("acme", "k");
    EXPECT_ANY_THROW(insert("acme", "k"));
    insert("other", "k");
    insert("acme", "K");
    const NewMessage same{
        .topic = "t", .payload = "p", .tenant_id = "acme", .idempotency_key = "k"};
    const EnqueueResult found = outbox().enqueue(same);
    EXPECT_TRUE(found.already_existed);
    EXPECT_EQ(get(found.id).idempotency_key, "k");
    EXPECT_FALSE(outbox()
                     .enqueue({.topic = "t",
                               .payload = "p",
                               .tenant_id = "acme",
                               .idempotency_key = "by the library"})
                     .already_existed);
    EXPECT_ANY_THROW(insert("acme", "by the library"));
    EXPECT_THAT(outbox().ack(claim()), SizeIs(4));
    EXPECT_ANY_THROW(insert("acme", "k"));
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(SqlSurfaceLaw, OBX_008_AnEmptyCorrelationIdIsStoredAsNull) {
    outbox().enqueue({.topic = "t", .payload = "p", .correlation_id = ""});
    EXPECT_EQ(sql("SELECT count(*) FROM " + table("outbox_live") + " WHERE correlation_id IS NULL"),
              (SqlRows{{"1"}}));
}

TEST_P(SqlSurfaceLaw, O1_OBX_094_TheOutboxViewHasTheDocumentsColumns) {
    put_many(2);
    const Message claimed = claim_one();
    outbox().ack(leases_of(claimed));
    const SqlRows rows =
        sql("SELECT topic, status, retry_count, message_id, idempotency_key, is_processed, "
            "processed_at, locked_until, owner_token, next_attempt_at, correlation_id, due_time, "
            "last_error, processed_by, created_at "
            "FROM " +
            table("outbox") + " ORDER BY seq");
    ASSERT_THAT(rows, SizeIs(2));
    EXPECT_EQ(rows[0][1], "2");
    EXPECT_THAT(rows[0][5].value(), testing::AnyOf("1", "t"));
    EXPECT_EQ(rows[0][13], me.to_string());
    EXPECT_EQ(rows[1][1], "0");
    EXPECT_THAT(rows[1][5].value(), testing::AnyOf("0", "f"));
    EXPECT_EQ(rows[1][3], rows[1][4]);
}

TEST_P(SqlSurfaceLaw, IBX_117_TheInboxViewHasTheDocumentsColumns) {
    inbox().enqueue({.topic = "t", .source = "s", .message_id = "m", .payload = "p"});
    const SqlRows rows =
        sql("SELECT source, message_id, topic, status, retry_count, last_error, "
            "due_time, locked_until, owner_token, last_seen FROM " +
            table("inbox"));
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows[0][0], "s");
    EXPECT_EQ(rows[0][1], "m");
    EXPECT_EQ(rows[0][3], "0");
}

TEST_P(SqlSurfaceLaw, IBX_117_TheViewsSpeakTheDocumentsWords) {
    inbox().enqueue({.topic = "t", .source = "s", .message_id = "done", .payload = "p"});
    inbox().mark_processed({.source = "s", .message_id = "done"});
    (void)inbox().already_processed({.source = "s", .message_id = "seen"});
    inbox().enqueue({.topic = "t", .source = "s", .message_id = "tried", .payload = "p"});
    inbox().abandon(inbox().claim(me, long_lease, 10), "no", 1h);
    EXPECT_EQ(sql("SELECT message_id, status_name, attempt, first_seen FROM " + table("inbox") +
                  " ORDER BY message_id")
                  .size(),
              3U);
    const auto word = [&](const std::string& id) {
        return sql("SELECT status_name FROM " + table("inbox") + " WHERE message_id = '" + id + "'")
            .at(0)
            .at(0)
            .value();
    };
    EXPECT_EQ(word("done"), "Done");
    EXPECT_EQ(word("seen"), "Seen");
    EXPECT_EQ(word("tried"), "Processing");
    EXPECT_EQ(sql("SELECT attempt FROM " + table("inbox") + " WHERE message_id = 'tried'"),
              (SqlRows{{"1"}}));
}

TEST_P(SqlSurfaceLaw, S000_4_2_S003_4_2_AnOwnerTokenHasOneTextForm) {
    put();
    claim_one();
    EXPECT_EQ(sql("SELECT owner_token FROM " + table("outbox")), (SqlRows{{me.to_string()}}));
    EXPECT_EQ(sql("SELECT status_name FROM " + table("outbox")), (SqlRows{{"InProgress"}}));
    inbox().enqueue({.topic = "t", .source = "s", .message_id = "m", .payload = "p"});
    EXPECT_THAT(inbox().claim(me, long_lease, 1), SizeIs(1));
    EXPECT_EQ(sql("SELECT owner_token FROM " + table("inbox")), (SqlRows{{me.to_string()}}));
}

TEST_P(SqlSurfaceLaw, TheStatusViewsDoWithoutTheLeases) {
    put();
    claim_one();
    EXPECT_EQ(sql("SELECT count(*) FROM " + table("outbox_status")), (SqlRows{{"1"}}));
    EXPECT_EQ(sql("SELECT count(*) FROM " + table("inbox_status")), (SqlRows{{"0"}}));
    EXPECT_ANY_THROW(sql("SELECT locked_until FROM " + table("outbox_status")));
}

TEST_P(SqlSurfaceLaw, AStatementForAnyDriverStoresTheMessage) {
    const SqlStatement statement = outbox().statement(
        {.topic = "t", .payload = std::string("\0\xFF", 2), .headers = {{"k", "v"}}});
    const std::unique_ptr<Transaction> tx = store().begin();
    tx->execute(statement);
    tx->commit();
    const Message message = claim_one();
    EXPECT_EQ(message.payload, std::string("\0\xFF", 2));
    EXPECT_EQ(message.headers, (Headers{{"k", "v"}}));
    EXPECT_THAT(message.message_id.str(), SizeIs(26));
}

// An engine that needs several statements for that must say so; it must not forget the key.
TEST_P(SqlSurfaceLaw, AStatementWithAKeyIsIdempotentOrRefused) {
    const NewMessage message{.topic = "t", .payload = "p", .idempotency_key = "k"};
    SqlStatement statement;
    try {
        statement = outbox().statement(message);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::misuse);
        EXPECT_THAT(error.what(), testing::HasSubstr("idempotency key"));
        return;
    }
    for (int i = 0; i < 2; ++i) {
        const std::unique_ptr<Transaction> tx = store().begin();
        tx->execute(statement);
        tx->commit();
    }
    EXPECT_TRUE(outbox().enqueue(message).already_existed);
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(SqlSurfaceLaw, AStatementWithAnOrderingKeyKeepsTheOrderOrIsRefused) {
    const NewMessage message{.topic = "t", .payload = "p", .ordering_key = "k"};
    outbox().enqueue(message);
    SqlStatement statement;
    try {
        statement = outbox().statement(message);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::misuse);
        EXPECT_THAT(error.what(), testing::HasSubstr("ordering key"));
        return;
    }
    const std::unique_ptr<Transaction> tx = store().begin();
    tx->execute(statement);
    tx->commit();
    EXPECT_THAT(claim(), SizeIs(1));
    EXPECT_EQ(store().counts(Queue::outbox).ready, 1U);
}

// Where messages with an ordering key have a place of their own, the table says so.
TEST_P(SqlSurfaceLaw, APlainInsertWithAnOrderingKeyKeepsTheOrderOrIsRefusedByName) {
    sandbox();
    const auto insert = [&] {
        sql("INSERT INTO " + table("outbox_live") +
            " (topic, payload, ordering_key) VALUES ('t', " + payload("p") + ", 'k')");
    };
    if (!sql_sandbox().one_table()) {
        EXPECT_THAT(thrown(insert), testing::HasSubstr("ordering_key_belongs_in_waiting"));
        return;
    }
    insert();
    insert();
    EXPECT_THAT(claim(), SizeIs(1));
    EXPECT_EQ(store().counts(Queue::outbox).ready, 1U);
}

TEST_P(SqlSurfaceLaw, TheDeployingUserMayUseEverything) {
    put();
    outbox().ack(leases_of(claim_one()));
    inbox().enqueue({.topic = "t", .source = "s", .message_id = "m", .payload = "p"});
    inbox().ack(leases_of(inbox().claim(me, long_lease, 1)));
    pass(10ms);
    EXPECT_EQ(outbox().purge(1ms), 1U);
    EXPECT_EQ(inbox().purge(1ms), 1U);
}

}  // namespace
}  // namespace postroom::test
