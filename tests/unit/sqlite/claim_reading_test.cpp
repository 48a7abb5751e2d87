// What becomes of a claim whose messages are leased and then cannot be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/driver.hpp"
#include "postroom/outbox.hpp"
#include "queue/message_fields.hpp"
#include "sql/backend.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::sqlite::claim_reading_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view poison = "poison";

// What goes wrong, for all connections of a store.
struct Trouble {
    bool poisoned = false;      // rows with this payload cannot be read
    bool cut_off = false;       // the next row of a claim is the last thing that answers
    bool late = false;          // of a claim nobody knows whether it will be made
    std::int64_t lease_id = 0;  // of that claim
    bool gone = false;
};

bool holds_poison(const sql::Row& row) {
    int payload = 0;
    for (const Field& field : message_fields) {
        if (!field.is_in(in_row)) continue;
        if (field.name == "payload") return row.blob(payload) == poison;
        ++payload;
    }
    return false;
}

class TroubledConnection final : public sql::Connection {
public:
    TroubledConnection(std::unique_ptr<sql::Connection> inner, Trouble& trouble)
        : inner_(std::move(inner)), trouble_(trouble) {}

    void run(sql::Bracket bracket, std::span<const sql::Call> calls,
             const sql::OnRow& on_row) override {
        require_there();
        const bool claims = calls.front().statement->sql == "BEGIN IMMEDIATE";
        if (claims && trouble_.late) {
            trouble_.lease_id = std::get<std::int64_t>(calls.front().params->at("lease_id"));
            throw Error(ErrorKind::outcome_unknown, "nobody answers in time");
        }
        inner_->run(bracket, calls, [&](std::size_t call, const sql::Row& row) {
            trouble_.gone = trouble_.gone || (claims && trouble_.cut_off);
            require_there();
            const bool reads_messages =
                calls[call].statement->sql.find("payload") != std::string::npos;
            if (trouble_.poisoned && reads_messages && holds_poison(row))
                throw Error(ErrorKind::rejected, "a page is torn");
            on_row(call, row);
        });
    }
    void begin() override { inner_->begin(); }
    void commit() override { inner_->commit(); }
    void rollback() override { inner_->rollback(); }
    bool in_transaction() const override { return inner_->in_transaction(); }
    SqlRows execute(const SqlStatement& statement) override { return inner_->execute(statement); }
    void execute_script(const std::string& script) override { inner_->execute_script(script); }
    bool healthy() const override { return inner_->healthy(); }

private:
    void require_there() const {
        if (trouble_.gone) throw Error(ErrorKind::unavailable, "nobody answers");
    }

    std::unique_ptr<sql::Connection> inner_;
    Trouble& trouble_;
};

class ClaimReading : public testing::Test {
protected:
    ClaimReading() {
        const std::string path = (directory_ / "store.db").string();
        sql::Backend backend{.dialect = make_dialect(),
                             .connect = [this, path]() -> std::unique_ptr<sql::Connection> {
                                 return std::make_unique<TroubledConnection>(
                                     std::make_unique<Driver>(path, std::chrono::seconds{10}),
                                     trouble_);
                             },
                             .peer = "sqlite:" + path,
                             .doorbell = {},
                             .group_commit = true};
        store_ = sql::make_store(std::move(backend), {.deploy_schema = true});
    }

    void put(std::string_view payload) {
        Outbox(*store_).enqueue({.topic = "t", .payload = std::string(payload)});
    }
    std::vector<std::string> claimed() {
        std::vector<std::string> payloads;
        for (const Message& message : Outbox(*store_).claim_due(10))
            payloads.push_back(message.payload);
        return payloads;
    }

    test::TempDir directory_;
    Trouble trouble_;
    std::unique_ptr<Store> store_;
};

TEST_F(ClaimReading, OneThatCannotBeReadEndsDeadAndTheOthersAreHandedOut) {
    put("a");
    put(poison);
    put("b");
    trouble_.poisoned = true;
    EXPECT_THAT(claimed(), ElementsAre("a", "b"));
    trouble_.poisoned = false;
    const std::vector<Message> dead =
        store_->find(Queue::outbox, {.state = State::dead, .limit = 10});
    ASSERT_THAT(dead, SizeIs(1));
    EXPECT_EQ(dead.front().payload, poison);
    EXPECT_EQ(dead.front().dead_reason, DeadReason::unreadable);
    EXPECT_THAT(dead.front().last_error, HasSubstr("a page is torn"));
    EXPECT_EQ(dead.front().lost_count, 0U);
    EXPECT_THAT(claimed(), IsEmpty());
}

// Goal: a claim whose answer never came does not count against messages that nobody ever had.
// Method: let the database go away while the messages are read, and come back.
TEST_F(ClaimReading, WhatWasNeverHandedOutIsNotLost) {
    put("a");
    put("b");
    trouble_.cut_off = true;
    EXPECT_THROW(claimed(), Error);
    trouble_.cut_off = false;
    EXPECT_THROW(claimed(), Error);
    trouble_.gone = false;
    const std::vector<Message> messages = Outbox(*store_).claim_due(10);
    ASSERT_THAT(messages, SizeIs(2));
    for (const Message& message : messages) EXPECT_EQ(message.lost_count, 0U);
}

// Goal: the same for a claim that the database makes later than anybody waits for it.
// Method: claim in vain, look once more while there is nothing, and write the leases then.
TEST_F(ClaimReading, WhatALateClaimLeasedIsNotLost) {
    trouble_.late = true;
    EXPECT_THROW(claimed(), Error);
    trouble_.late = false;
    EXPECT_THAT(claimed(), IsEmpty());
    put("a");
    put("b");
    const auto tx = store_->begin();
    tx->execute({.sql = "INSERT INTO outbox_lease (seq, lease_id, locked_until, owner) "
                        "SELECT seq, ?1, 9000000000000000, x'00' FROM outbox_live",
                 .params = {SqlValue(trouble_.lease_id)}});
    tx->commit();
    std::vector<Message> messages;
    EXPECT_TRUE(test::wait_until(
        [&] {
            messages = Outbox(*store_).claim_due(10);
            return !messages.empty();
        },
        std::chrono::seconds{60}));
    ASSERT_THAT(messages, SizeIs(2));
    for (const Message& message : messages) EXPECT_EQ(message.lost_count, 0U);
}

TEST_F(ClaimReading, HeadersCountWhereMessagesAreReadOneByOne) {
    const std::string large(40'000, 'h');
    for (const char* payload : {"a", "b", "c"})
        Outbox(*store_).enqueue({.topic = "t", .payload = payload, .headers = {{"h", large}}});
    put(poison);
    trouble_.poisoned = true;
    std::vector<std::string> payloads;
    for (const Message& message : store_->claim(Queue::outbox,
                                                {.owner = OwnerToken::generate(),
                                                .lease = std::chrono::seconds{30},
                                                .batch = 10,
                                                .bytes = 100'000},
                                                {}))
        payloads.push_back(message.payload);
    EXPECT_THAT(payloads, ElementsAre("a", "b"));
}

}  // namespace
}  // namespace postroom::sqlite::claim_reading_test
