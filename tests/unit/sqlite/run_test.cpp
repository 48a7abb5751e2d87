// Several messages at once on SQLite: what is dealt with as one run or one block ends as if each
// had come alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "postroom/backend/sqlite.hpp"
#include "postroom/error.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite::run_test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

class SqliteRun : public testing::TestWithParam<bool> {
protected:
    std::vector<EnqueueResult> enqueue(std::size_t count) {
        std::vector<NewMessage> messages(count, {.topic = "t", .payload = ""});
        for (std::size_t i = 0; i < count; ++i)
            messages[i].payload = "payload " + std::to_string(i);
        return outbox_.enqueue_all(messages);
    }

    std::vector<Lease> claim(std::uint32_t count) {
        std::vector<Lease> leases;
        for (const Message& m : outbox_.claim(outbox_.owner(), 1min, count))
            leases.push_back(m.lease.value());
        return leases;
    }

    std::string cell(const std::string& sql) {
        const auto tx = store_->begin();
        const SqlRows rows = tx->execute({.sql = sql, .params = {}});
        tx->commit();
        return rows.empty() ? "" : rows.at(0).at(0).value_or("NULL");
    }

    test::TempDir directory_;
    std::unique_ptr<Store> store_ = open_store((directory_ / "run.db").string(),
                                               {.deploy_schema = true, .keep_history = GetParam()});
    Outbox outbox_{*store_};
    Inbox inbox_{*store_};
};

// Goal: nobody gets the id of another message.
TEST_P(SqliteRun, RowsThatATriggerDropsAreReported) {
    cell(
        "CREATE TRIGGER drop_some BEFORE INSERT ON outbox_live WHEN NEW.payload = "
        "CAST('payload 3' AS BLOB) BEGIN SELECT RAISE(IGNORE); END");
    EXPECT_NO_THROW(enqueue(3));
    for (const std::size_t count : {4U, 53U}) {
        try {
            enqueue(count);
            ADD_FAILURE() << "nobody was told";
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("dropped the others"));
        }
    }
}

// Goal: each result names the row that its message became, across blocks and what is left of them.
TEST_P(SqliteRun, ResultsOfManyNameTheirRows) {
    const std::vector<EnqueueResult> results = enqueue(53);
    ASSERT_THAT(results, SizeIs(53));
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::optional<Message> message = outbox_.get(results[i].id);
        ASSERT_TRUE(message.has_value()) << i;
        EXPECT_EQ(message->payload, "payload " + std::to_string(i));
        EXPECT_EQ(message->message_id, results[i].message_id);
    }
}

// Goal: a refused row takes all others of its call with it, and nothing else.
TEST_P(SqliteRun, ARefusedRowOfABlockLeavesNothing) {
    cell(
        "CREATE TRIGGER refuse AFTER INSERT ON outbox_live WHEN NEW.topic = 'refused' "
        "BEGIN SELECT RAISE(FAIL, 'refused by trigger'); END");
    enqueue(1);
    std::vector<NewMessage> messages(40, {.topic = "t", .payload = "x"});
    messages[20].topic = "refused";
    EXPECT_THROW(outbox_.enqueue_all(messages), Error);
    EXPECT_EQ(cell("SELECT count(*) FROM outbox_live"), "1");
}

TEST_P(SqliteRun, AWholeRunIsAcknowledged) {
    enqueue(20);
    EXPECT_THAT(outbox_.ack(claim(20)), Each(Settled::done));
    EXPECT_EQ(cell("SELECT count(*) FROM outbox_live"), "0");
    EXPECT_EQ(cell("SELECT count(*) FROM outbox_lease"), "0");
    EXPECT_EQ(cell("SELECT count(*) FROM outbox_done"), GetParam() ? "20" : "0");
}

// Goal: of a run only what is held goes. Method: one was settled before, one is leased to somebody
// else, one has another nonce, one waits and is held, one is given twice.
TEST_P(SqliteRun, OfABrokenRunOnlyWhatIsHeldGoes) {
    enqueue(1);
    outbox_.abandon(claim(1), "", 1ms);
    std::this_thread::sleep_for(10ms);
    enqueue(19);
    std::vector<Lease> leases = claim(20);
    ASSERT_THAT(leases, SizeIs(20));
    outbox_.fail(std::vector{leases[3]}, "no");
    cell("UPDATE outbox_lease SET lease_id = 17 WHERE seq = " + std::to_string(leases[5].id.seq()));
    leases[7].id = WorkItemId(leases[7].id.seq(), leases[7].id.nonce() + 1);
    leases.push_back(leases[9]);

    const std::vector<Settled> settled = outbox_.ack(leases);

    for (std::size_t i = 0; i < settled.size(); ++i) {
        const bool lost = i == 3 || i == 5 || i == 7;
        EXPECT_EQ(settled[i], lost ? Settled::lost : Settled::done) << i;
    }
    EXPECT_EQ(cell("SELECT count(*) FROM outbox_live"), "2");
    EXPECT_EQ(cell("SELECT count(*) FROM outbox_waiting"), "1");
    EXPECT_EQ(cell("SELECT count(*) FROM outbox_lease"), "2");
    EXPECT_EQ(cell("SELECT count(*) FROM outbox_done"), GetParam() ? "17" : "0");
}

// Goal: a run with a foreign message in its middle leaves that alone.
TEST_P(SqliteRun, AGapIsNotAcknowledged) {
    enqueue(9);
    std::vector<Lease> leases = claim(9);
    const Lease kept = leases[4];
    leases.erase(leases.begin() + 4);
    EXPECT_THAT(outbox_.ack(leases), Each(Settled::done));
    EXPECT_EQ(cell("SELECT count(*) FROM outbox_lease"), "1");
    EXPECT_THAT(outbox_.ack(std::vector{kept}), Each(Settled::done));
}

// Goal: the keys of received messages are done when a run of them is.
TEST_P(SqliteRun, AReceivedRunIsDoneAndRemembered) {
    std::vector<ReceivedMessage> messages(10, {.topic = "t", .source = "s", .payload = "x"});
    for (std::size_t i = 0; i < messages.size(); ++i)
        messages[i].message_id = "m" + std::to_string(i);
    for (const ReceiveResult& result : inbox_.enqueue_all(messages))
        EXPECT_FALSE(result.previous.has_value());
    std::vector<Lease> leases;
    for (const Message& m : inbox_.claim_due(10)) leases.push_back(m.lease.value());
    inbox_.fail(std::vector{leases[2]}, "no");
    const std::vector<Settled> settled = inbox_.ack(leases);
    for (std::size_t i = 0; i < settled.size(); ++i)
        EXPECT_EQ(settled[i], i == 2 ? Settled::lost : Settled::done) << i;
    EXPECT_EQ(cell("SELECT count(*) FROM inbox_key WHERE state = 2 AND seq IS NULL"), "9");
    for (const ReceiveResult& result : inbox_.enqueue_all(messages))
        EXPECT_TRUE(result.previous.has_value());
    EXPECT_THAT(inbox_.claim_due(10), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(History, SqliteRun, testing::Bool(),
                         [](const auto& kept) { return kept.param ? "Kept" : "Not"; });

// The encoding of a file is that of whoever made it.
TEST(SqliteRunEncoding, AcksOfARunHoldInAFileInUtf16) {
    const test::TempDir directory;
    const std::string path = (directory / "wide.db").string();
    sqlite3* made = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &made), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(made, "PRAGMA encoding = 'UTF-16'; CREATE TABLE business (id INTEGER)",
                           nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(made);

    const auto store = open_store(path, {.deploy_schema = true});
    const Outbox outbox(*store);
    outbox.enqueue_all(std::vector<NewMessage>(20, {.topic = "t", .payload = "wide"}));
    std::vector<Lease> leases;
    for (const Message& m : outbox.claim(outbox.owner(), 1min, 20)) {
        EXPECT_EQ(m.payload, "wide");
        leases.push_back(m.lease.value());
    }
    ASSERT_THAT(leases, SizeIs(20));
    EXPECT_THAT(outbox.ack(leases), Each(Settled::done));
}

}  // namespace
}  // namespace postroom::sqlite::run_test
