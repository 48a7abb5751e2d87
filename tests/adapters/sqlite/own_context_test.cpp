// A program on plain sqlite3: with a TxContext that it wrote itself, with borrow(), and with
// statement().
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <type_traits>

#include "adapters/sqlite/sqlite_application.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"

namespace postroom::test {
namespace {

// [own-context]
class OwnContext final : public TxContext {
public:
    explicit OwnContext(sqlite3* connection) : connection_(connection) {}

    bool in_transaction() const override { return sqlite3_get_autocommit(connection_) == 0; }

    SqlRows execute(const SqlStatement& statement) override {
        sqlite3_stmt* prepared = nullptr;
        if (sqlite3_prepare_v2(connection_, statement.sql.c_str(), -1, &prepared, nullptr) !=
            SQLITE_OK) {
            fail();
        }
        const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(prepared,
                                                                          &sqlite3_finalize);
        int position = 0;
        for (const SqlValue& value : statement.params) {
            ++position;
            std::visit([&](const auto& v) { bind(prepared, position, v); }, value);
        }
        SqlRows rows;
        int step = SQLITE_ROW;
        while ((step = sqlite3_step(prepared)) == SQLITE_ROW) {
            auto& row = rows.emplace_back();
            for (int i = 0; i < sqlite3_column_count(prepared); ++i)
                row.push_back(cell(prepared, i));
        }
        if (step != SQLITE_DONE) fail();
        return rows;
    }

    bool reports_end() const override { return false; }
    void after_commit(std::function<void()>) override {
        throw Error(ErrorKind::misuse, "after_commit");
    }
    void after_rollback(std::function<void()>) override {
        throw Error(ErrorKind::misuse, "after_rollback");
    }

private:
    static void bind(sqlite3_stmt* to, int at, std::monostate) { sqlite3_bind_null(to, at); }
    static void bind(sqlite3_stmt* to, int at, std::int64_t v) { sqlite3_bind_int64(to, at, v); }
    static void bind(sqlite3_stmt* to, int at, const std::string& v) {
        sqlite3_bind_text(to, at, v.data(), static_cast<int>(v.size()), nullptr);
    }
    static void bind(sqlite3_stmt* to, int at, const Blob& v) {
        sqlite3_bind_blob(to, at, v.bytes.data(), static_cast<int>(v.bytes.size()), nullptr);
    }
    static std::optional<std::string> cell(sqlite3_stmt* from, int at) {
        const unsigned char* const text = sqlite3_column_text(from, at);
        if (text == nullptr) return std::nullopt;
        return std::string(text, text + sqlite3_column_bytes(from, at));
    }
    [[noreturn]] void fail() const {
        throw Error(ErrorKind::rejected, sqlite3_errmsg(connection_));
    }

    sqlite3* const connection_;
};
// [/own-context]

class PlainApplication : public Application {
public:
    Store& store() override { return file_.store(); }
    void begin() override { connection_.run("BEGIN IMMEDIATE"); }
    void commit() override { connection_.run("COMMIT"); }
    void rollback() override { connection_.run("ROLLBACK"); }
    void place_order(const std::string& name) override {
        connection_.run("INSERT INTO orders VALUES ('" + name + "')");
    }
    std::size_t orders() override { return file_.orders(); }

protected:
    sqlite3* handle() { return connection_.handle(); }

private:
    SqliteFile file_;
    SqliteConnection connection_{file_.path()};
};

class OwnContextApplication final : public PlainApplication {
public:
    TxContext& context() override { return context_; }

private:
    OwnContext context_{handle()};
};

class BorrowApplication final : public PlainApplication {
public:
    explicit BorrowApplication(BorrowOptions options)
        : context_(sqlite::borrow(handle(), options)) {}

    TxContext& context() override { return *context_; }

private:
    std::unique_ptr<TxContext> context_;
};

std::unique_ptr<Application> unprepared() {
    return std::make_unique<BorrowApplication>(BorrowOptions{});
}
std::unique_ptr<Application> prepared() {
    return std::make_unique<BorrowApplication>(BorrowOptions{.prepare = true});
}

INSTANTIATE_TEST_SUITE_P(
    SqliteRaw, JoinedTransaction,
    testing::Values(Library{"OwnContext", [] { return std::make_unique<OwnContextApplication>(); }},
                    Library{"Borrow", unprepared}, Library{"BorrowPrepared", prepared}),
    library_name);

TEST(SqliteStatement, RunByHandItEnqueues) {
    SqliteFile file;
    const Outbox outbox(file.store());
    NewMessage message;
    message.topic = TopicName("order.placed");
    message.payload = std::string("\0\xFF", 2);
    const SqliteConnection connection(file.path());
    connection.run("BEGIN IMMEDIATE");
    OwnContext(connection.handle()).execute(outbox.statement(message));
    connection.run("COMMIT");

    const std::vector<Message> claimed = outbox.claim_due(10);
    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(claimed[0].topic, "order.placed");
    EXPECT_EQ(claimed[0].payload, message.payload);
}

TEST(SqliteStatement, WhatOneStatementCannotDoIsRefused) {
    SqliteFile file;
    const Outbox outbox(file.store());
    NewMessage message;
    message.topic = TopicName("order.placed");
    message.payload = "{}";
    message.idempotency_key = "key";
    try {
        outbox.statement(message);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::misuse);
    }
}

}  // namespace
}  // namespace postroom::test
