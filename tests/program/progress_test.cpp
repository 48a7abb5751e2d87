// Progress of long work, as somebody at a terminal sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "program/e2e_peers.hpp"
#include "program/program.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test::progress_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

void deliver(Store& store, std::size_t batches, std::uint32_t each) {
    const Outbox outbox(store);
    const std::vector<NewMessage> messages(each, NewMessage{.topic = "t", .payload = "p"});
    for (std::size_t i = 0; i < batches; ++i) {
        outbox.enqueue_all(messages);
        std::vector<Lease> leases;
        for (const Message& message : outbox.claim_due(each)) leases.push_back(*message.lease);
        outbox.ack(leases);
    }
}

// Goal: a purge says how long it will take. Method: the database takes its time over each row, so
// that every batch lasts longer than a terminal waits for news.
TEST(ProgressOfPurge, HasARateAndTheTimeLeft) {
    const PostgresDatabase database;
    const std::unique_ptr<Store> store = open_store(database.url(), {.deploy_schema = true});
    deliver(*store, 6, 250);
    database.psql(
        "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(0.0005); RETURN OLD; END $$; "
        "CREATE TRIGGER dawdle BEFORE DELETE ON infra.outbox_done FOR EACH ROW "
        "EXECUTE FUNCTION dawdle()");
    ProgramFolder folder;
    folder.set("POSTROOM_URL", database.url());
    const std::string seen = folder.on_terminal({"purge", "--older-than", "0", "--yes"}).out;
    EXPECT_THAT(seen, ContainsRegex("[0-9]+ purged, [0-9]+/s, [0-9]+m?s left"));
    EXPECT_THAT(seen, HasSubstr("\r\033[K1500 messages purged")) << "on a cleared line";
}

TEST(ProgressOfPurge, IsNotShownWithoutATerminal) {
    ProgramFolder folder;
    folder.good({"migrate", "up"});
    EXPECT_EQ(folder.run({"purge", "--older-than", "0", "--yes"}).err, "");
}

}  // namespace
}  // namespace postroom::test::progress_test
