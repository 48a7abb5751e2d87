// A program on plain libpq: with borrow(), and with statement() and PQexecParams.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <stdexcept>

#include "adapters/postgres/postgres_application.hpp"
#include "postroom/outbox.hpp"

namespace postroom::test {
namespace {

using PgConnection = std::unique_ptr<PGconn, void (*)(PGconn*)>;
using PgResult = std::unique_ptr<PGresult, void (*)(PGresult*)>;

void check(PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        throw std::runtime_error(PQresultErrorMessage(result));
    }
}

// [libpq-statement]
void run(PGconn* connection, const SqlStatement& statement) {
    std::vector<std::string> texts;
    texts.reserve(statement.params.size());
    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
    for (const SqlValue& value : statement.params) {
        const auto* const number = std::get_if<std::int64_t>(&value);
        const auto* const text = std::get_if<std::string>(&value);
        const auto* const blob = std::get_if<Blob>(&value);
        if (number != nullptr) {
            texts.push_back(std::to_string(*number));
        } else {
            texts.push_back(text != nullptr   ? *text
                            : blob != nullptr ? blob->bytes
                                              : std::string());
        }
        const bool null = std::holds_alternative<std::monostate>(value);
        values.push_back(null ? nullptr : texts.back().c_str());
        lengths.push_back(static_cast<int>(texts.back().size()));
        formats.push_back(blob != nullptr ? 1 : 0);
    }
    const PgResult result(
        PQexecParams(connection, statement.sql.c_str(), static_cast<int>(values.size()), nullptr,
                     values.data(), lengths.data(), formats.data(), 0),
        &PQclear);
    check(result.get());
}
// [libpq-statement]

void run(PGconn* connection, const std::string& sql) { run(connection, SqlStatement{sql, {}}); }

class LibpqApplication final : public Application {
public:
    explicit LibpqApplication(BorrowOptions options) : options_(options) {}

    Store& store() override { return shop_.store(); }
    void begin() override { run(connection_.get(), "BEGIN"); }
    void commit() override { run(connection_.get(), "COMMIT"); }
    void rollback() override { run(connection_.get(), "ROLLBACK"); }
    void place_order(const std::string& name) override {
        run(connection_.get(), {"INSERT INTO orders VALUES ($1)", {name}});
    }
    TxContext& context() override { return *context_; }
    std::size_t orders() override { return shop_.orders(); }

private:
    const BorrowOptions options_;
    PostgresShop shop_;
    PgConnection connection_{PQconnectdb(shop_.url().c_str()), &PQfinish};
    std::unique_ptr<TxContext> context_ = postgres::borrow(connection_.get(), options_);
};

std::unique_ptr<Application> unprepared() {
    return std::make_unique<LibpqApplication>(BorrowOptions{});
}
std::unique_ptr<Application> prepared() {
    return std::make_unique<LibpqApplication>(BorrowOptions{.prepare = true});
}

INSTANTIATE_TEST_SUITE_P(PostgresRaw, JoinedTransaction,
                         testing::Values(Library{"Borrow", unprepared},
                                         Library{"BorrowPrepared", prepared}),
                         library_name);

TEST(PostgresStatement, RunByHandItEnqueues) {
    PostgresShop shop;
    const Outbox outbox(shop.store());
    const PgConnection connection(PQconnectdb(shop.url().c_str()), &PQfinish);
    NewMessage message;
    message.topic = TopicName("order.placed");
    message.payload = std::string("\0\xFF", 2);
    run(connection.get(), "BEGIN");
    run(connection.get(), outbox.statement(message));
    message.idempotency_key = "key";
    run(connection.get(), outbox.statement(message));
    run(connection.get(), outbox.statement(message));
    run(connection.get(), "COMMIT");

    const std::vector<Message> claimed = outbox.claim_due(10);
    ASSERT_EQ(claimed.size(), 2U) << "the second with the key is none";
    for (const Message& each : claimed) EXPECT_EQ(each.payload, message.payload);
}

}  // namespace
}  // namespace postroom::test
