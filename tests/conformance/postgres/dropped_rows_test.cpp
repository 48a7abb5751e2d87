// A trigger of somebody else's that drops rows before they are inserted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "postroom/backend/postgres.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/error_of.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {
namespace {

class PostgresDroppedRows : public testing::Test {
protected:
    PostgresDroppedRows() {
        database.psql(
            "CREATE FUNCTION drop_some() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN IF NEW.topic = ''dropped'' THEN RETURN NULL; END IF; RETURN NEW; END'; "
            "CREATE TRIGGER drop_some BEFORE INSERT ON infra.outbox_live "
            "FOR EACH ROW EXECUTE FUNCTION drop_some()");
    }

    const PostgresDatabase database;
    const std::unique_ptr<Store> store =
        postgres::open_store(database.url(), {.deploy_schema = true});
    const Outbox outbox{*store};
};

TEST_F(PostgresDroppedRows, AreReportedAndNobodyGetsTheIdOfAnother) {
    const auto tx = store->begin();
    const std::vector<NewMessage> messages{{.topic = "dropped", .payload = "a"},
                                           {.topic = "kept", .payload = "b"}};
    try {
        outbox.enqueue_all(*tx, messages);
        ADD_FAILURE() << "nobody was told";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::rejected);
        EXPECT_THAT(error.what(), testing::HasSubstr("stored 1 of 2 messages"));
    }
    EXPECT_THROW(outbox.enqueue({.topic = "dropped", .payload = "a"}), Error);
    EXPECT_NO_THROW(outbox.enqueue({.topic = "kept", .payload = "b"}));
}

// The function for any language has an id to return, so it fails.
TEST_F(PostgresDroppedRows, AreAnErrorOfTheFunction) {
    const std::string call = "SELECT infra.outbox_enqueue('dropped', 'a'::text";
    for (const std::string more : {"", ", idempotency_key => 'k'"})
        EXPECT_THAT(error_of([&] {
                        store->begin()->execute({.sql = call + more + ")", .params = {}});
                    }).what(),
                    testing::HasSubstr("the database dropped the message"));
}

// Goal: threads that share a statement do not share the fate of the one whose row is dropped.
// Method: many threads enqueue at once, every third a message that the trigger drops.
TEST_F(PostgresDroppedRows, AreTheLossOfNobodyElseInTheirStatement) {
    constexpr int threads = 24;
    std::vector<std::string> fates(threads);
    {
        std::vector<std::jthread> writers;
        for (int i = 0; i < threads; ++i)
            writers.emplace_back([&, i] {
                const bool dropped = i % 3 == 0;
                for (int round = 0; round < 20; ++round) {
                    try {
                        const EnqueueResult result = outbox.enqueue(
                            {.topic = dropped ? "dropped" : "kept", .payload = std::to_string(i)});
                        const std::vector<Message> there =
                            store->find(Queue::outbox, {.ids = {result.id}, .limit = 1});
                        if (there.empty() || there.front().payload != std::to_string(i))
                            fates[i] += "the id of another; ";
                    } catch (const Error& error) {
                        const bool fair = dropped && error.kind() == ErrorKind::rejected;
                        if (!fair) fates[i] += std::string(error.what()) + "; ";
                    }
                }
            });
    }
    EXPECT_THAT(fates, testing::Each(""));
    EXPECT_EQ(database.psql("SELECT count(*) FROM infra.outbox_live"), (SqlRows{{"320"}}));
}

}  // namespace
}  // namespace postroom::test
