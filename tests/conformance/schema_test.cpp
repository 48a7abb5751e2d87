// The schema: deployed once however often one asks, reported when it drifts, under names of the
// user's choice.
#include <algorithm>

#include "conformance/law.hpp"

namespace postroom::test::schema {
namespace {

using testing::Contains;

const NewMessage message{.topic = "t", .payload = "p"};

TEST_P(SchemaLaw, OBX_091_OBX_094_IBX_114_IBX_117_DeployingCreatesWhatBothQueuesNeed) {
    put();
    inbox().enqueue({.topic = "t", .source = "s", .message_id = "m", .payload = "p"});
    EXPECT_THAT(claim(), SizeIs(1));
    EXPECT_THAT(inbox().claim(me, long_lease, 1), SizeIs(1));
    const std::vector<std::string> objects = sql_sandbox().objects();
    for (const char* name : {"outbox", "outbox_live", "outbox_waiting", "outbox_lease",
                             "outbox_done", "outbox_key", "outbox_status", "inbox", "inbox_live",
                             "inbox_waiting", "inbox_lease", "inbox_key", "inbox_status"})
        EXPECT_THAT(objects, Contains(name));
}

TEST_P(SchemaLaw, OBX_093_IBX_116_DeployingTwiceChangesNothing) {
    put();
    const std::vector<std::string> before = sql_sandbox().objects();
    const std::unique_ptr<Schema> schema = sql_sandbox().schema({});
    schema->deploy();
    schema->deploy();
    EXPECT_THAT(sql_sandbox().objects(), testing::UnorderedElementsAreArray(before));
    EXPECT_TRUE(schema->report().up_to_date());
    EXPECT_THAT(
        sql_sandbox().reopen_with({.deploy_schema = true})->claim(Queue::outbox, {.owner = me}),
        SizeIs(1));
}

TEST_P(SchemaLaw, OBX_093_IBX_116_ConcurrentDeploymentsAllSucceed) {
    const auto empty = GetParam().backend.make({.deploy_schema = false});
    auto& database = dynamic_cast<SqlSandbox&>(*empty);
    // Nine wait for the first, however long the disk takes.
    const OpenOptions patient{.statement_timeout = std::chrono::minutes{4}};
    in_parallel(10, [&](int) { database.schema(patient)->deploy(); });
    const SchemaReport report = database.schema({})->report();
    EXPECT_THAT(report.pending, IsEmpty());
    EXPECT_THAT(report.drift, IsEmpty());
    EXPECT_THAT(Outbox(empty->store()).enqueue_all(std::vector{message, message}), SizeIs(2));
}

TEST_P(SchemaLaw, OBX_092_IBX_115_WithoutDeploymentNothingIsCreated) {
    const auto empty = GetParam().backend.make({.deploy_schema = false});
    auto& database = dynamic_cast<SqlSandbox&>(*empty);
    EXPECT_THAT(database.objects(), IsEmpty());
    EXPECT_EQ(kind_thrown([&] { Outbox(empty->store()).enqueue(message); }), ErrorKind::rejected);
    EXPECT_THAT(thrown([&] { Outbox(empty->store()).enqueue(message); }),
                HasSubstr(database.message_table()));
    EXPECT_EQ(kind_thrown([&] {
                  (void)Inbox(empty->store()).already_processed({.source = "s", .message_id = "m"});
              }),
              ErrorKind::rejected);
    EXPECT_THAT(database.objects(), IsEmpty());
}

TEST_P(SchemaLaw, AReportOfAnEmptyDatabaseListsEveryMigrationAsPending) {
    const auto empty = GetParam().backend.make({.deploy_schema = false});
    auto& database = dynamic_cast<SqlSandbox&>(*empty);
    const SchemaReport before = database.schema({})->report();
    EXPECT_EQ(before.version, 0);
    EXPECT_FALSE(before.pending.empty());
    EXPECT_FALSE(before.up_to_date());
    EXPECT_THAT(database.objects(), IsEmpty());
    database.schema({})->deploy();
    const SchemaReport after = database.schema({})->report();
    EXPECT_GT(after.version, 0);
    EXPECT_TRUE(after.up_to_date());
}

TEST_P(SchemaLaw, RoutinesOfAnotherVersionAreOutdatedAndReplacedByADeployment) {
    sql("UPDATE " + table("postroom_migration") +
        " SET checksum = 'another' WHERE name LIKE 'routines%'");
    const SchemaReport report = sql_sandbox().schema({})->report();
    EXPECT_THAT(report.outdated, testing::SizeIs(2));
    EXPECT_THAT(report.pending, IsEmpty());
    EXPECT_FALSE(report.up_to_date());
    sql_sandbox().schema({})->deploy();
    EXPECT_TRUE(sql_sandbox().schema({})->report().up_to_date());
}

// Its number is higher than any of ours.
TEST_P(SchemaLaw, RoutinesOfANewerSchemaAreLeftAlone) {
    sql("UPDATE " + table("postroom_migration") +
        " SET checksum = 'newer', number = 9999 WHERE name LIKE 'routines%'");
    sql_sandbox().schema({})->deploy();
    EXPECT_EQ(
        sql("SELECT count(*) FROM " + table("postroom_migration") + " WHERE checksum = 'newer'"),
        (SqlRows{{"2"}}));
    EXPECT_TRUE(sql_sandbox().schema({})->report().newer);
}

TEST_P(SchemaLaw, ADroppedViewIsNamedAsDrift) {
    sql("DROP VIEW " + table("inbox_status"));
    const SchemaReport report = sql_sandbox().schema({})->report();
    EXPECT_FALSE(report.up_to_date());
    EXPECT_THAT(report.drift, Contains(HasSubstr("inbox_status")));
    EXPECT_THAT(report.pending, IsEmpty());
}

TEST_P(SchemaLaw, ADroppedIndexIsNamedAsDrift) {
    const std::vector<std::string> objects = sql_sandbox().objects();
    const auto index = std::find_if(objects.begin(), objects.end(), [](const std::string& name) {
        return name.starts_with("outbox_waiting_") && name.find("_pk") == std::string::npos;
    });
    ASSERT_NE(index, objects.end());
    sql(sql_sandbox().drop_index(*index, "outbox_waiting"));
    EXPECT_THAT(sql_sandbox().schema({})->report().drift, Contains(HasSubstr(*index)));
}

TEST_P(SchemaLaw, AnAddedColumnIsDriftAndTheQueueGoesOn) {
    const std::string name = sql_sandbox().message_table();
    sql(sql_sandbox().add_column(table(name)));
    EXPECT_THAT(sql_sandbox().schema({})->report().drift, Contains(HasSubstr(name)));
    put();
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(SchemaLaw, NamesAreConfigurable) {
    const OpenOptions options{.schema = "messaging",
                              .outbox_table = "Post",
                              .inbox_table = "letters_2",
                              .deploy_schema = true};
    const std::unique_ptr<Store> named = sql_sandbox().reopen_with(options);
    const Outbox post(*named);
    const Inbox letters(*named);
    const EnqueueResult stored =
        post.enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"});
    letters.enqueue({.topic = "t", .source = "s", .message_id = "m", .payload = "p"});
    const std::vector<Message> claimed = post.claim(me, long_lease, 10);
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0].id, stored.id);
    EXPECT_THAT(post.ack(leases_of(claimed)), testing::ElementsAre(Settled::done));
    EXPECT_THAT(letters.claim(me, long_lease, 10), SizeIs(1));
    EXPECT_THAT(sql_sandbox().objects(), Contains("Post_live"));
    EXPECT_THAT(sql_sandbox().objects(), Contains("letters_2_key"));
    EXPECT_TRUE(sql_sandbox().schema(options)->report().up_to_date());
    EXPECT_THAT(claim(), IsEmpty());
}

// Goal: no name of a rule, an index or a routine becomes too long for the engine.
TEST_P(SchemaLaw, NamesOfThirtyTwoCharactersAreDeployed) {
    const OpenOptions options{.outbox_table = "post_of_the_orders_of_the_shop_1",
                              .inbox_table = "letters_from_all_of_the_world_22",
                              .deploy_schema = true};
    ASSERT_EQ(options.outbox_table.size(), 32U);
    ASSERT_EQ(options.inbox_table.size(), 32U);
    const std::unique_ptr<Store> named = sql_sandbox().reopen_with(options);
    EXPECT_TRUE(sql_sandbox().schema(options)->report().up_to_date());
    const Outbox post(*named);
    post.enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"});
    EXPECT_THAT(post.claim(me, long_lease, 10), SizeIs(1));
}

TEST_P(SchemaLaw, HostileNamesAreRefusedBeforeAnythingHappens) {
    const std::vector<std::string> before = sql_sandbox().objects();
    for (const std::string& name :
         {std::string(""), std::string("a\"; DROP TABLE outbox_live; --"), std::string("a b"),
          std::string("1a"), std::string("a.b"), std::string("a'"), std::string("a\0b", 3),
          std::string("\xC3\xA9"), std::string(49, 'x')}) {
        EXPECT_THAT(thrown([&] { sql_sandbox().reopen_with({.schema = name}); }),
                    testing::StartsWith("invalid_argument: schema: "));
        EXPECT_THAT(thrown([&] { sql_sandbox().reopen_with({.outbox_table = name}); }),
                    testing::StartsWith("invalid_argument: outbox_table: "));
        EXPECT_THAT(thrown([&] { sql_sandbox().schema({.inbox_table = name}); }),
                    testing::StartsWith("invalid_argument: inbox_table: "));
    }
    EXPECT_THAT(sql_sandbox().objects(), testing::UnorderedElementsAreArray(before));
}

TEST_P(SchemaLaw, TheScriptShowsEveryTableUnderItsName) {
    const std::string script =
        sql_sandbox().schema({.outbox_table = "post", .inbox_table = "letters"})->script();
    for (const char* name : {"post_live", "post_waiting", "post_lease", "post_done", "post_key",
                             "letters_live", "letters_key"})
        EXPECT_THAT(script, HasSubstr(name));
    EXPECT_THAT(script, testing::Not(HasSubstr("{live}")));
}

}  // namespace
}  // namespace postroom::test::schema
