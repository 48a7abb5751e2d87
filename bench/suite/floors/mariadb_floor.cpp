#include "suite/floors/mariadb_floor.hpp"

#include <fmt/format.h>
#include <mysql.h>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "postroom/backend/mysql.hpp"
#include "storage/measure.hpp"
#include "suite/floors/mariadb_connection.hpp"

namespace bench {
namespace {

const std::vector<std::string> tables = {
    R"sql(CREATE TABLE message (
    seq         bigint PRIMARY KEY AUTO_INCREMENT,
    id          binary(16) NOT NULL UNIQUE,
    topic       varchar(255) NOT NULL,
    payload     longblob NOT NULL,
    created_at  datetime(6) NOT NULL DEFAULT current_timestamp(6),
    due_at      datetime(6) NOT NULL DEFAULT current_timestamp(6),
    lease_until datetime(6),
    owner       binary(16),
    status      smallint NOT NULL DEFAULT 0,
    attempts    int NOT NULL DEFAULT 0,
    INDEX message_ready (status, due_at, seq)))sql",
    "CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL)",
    "INSERT INTO account SELECT seq, 0 FROM seq_0_to_63",
    R"sql(CREATE TABLE received (
    seq         bigint PRIMARY KEY AUTO_INCREMENT,
    source      varbinary(255) NOT NULL,
    message_id  varbinary(255) NOT NULL,
    topic       varchar(255) NOT NULL,
    payload     longblob,
    first_seen  datetime(6) NOT NULL DEFAULT current_timestamp(6),
    status      smallint NOT NULL DEFAULT 0,
    UNIQUE (source, message_id),
    INDEX received_ready (status, seq)))sql",
};

constexpr const char* update_account_sql = "UPDATE account SET balance = balance + 1 WHERE id = ?";

std::string random_id() {
    const std::array<std::int64_t, 2> parts{random_int64(), random_int64()};
    return {reinterpret_cast<const char*>(parts.data()), sizeof parts};
}

class MariadbFloorConnection final : public FloorConnection {
public:
    explicit MariadbFloorConnection(const std::string& url)
        : connection_(url),
          insert_(connection_, "INSERT INTO message (id, topic, payload) VALUES (?, ?, ?)"),
          update_(connection_, update_account_sql) {
        connection_.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }

    void begin() override { connection_.execute("START TRANSACTION"); }
    void commit() override { connection_.execute("COMMIT"); }
    void update_account(int account) override { update_.run({std::to_string(account)}); }
    void insert() override { insert_.run({random_id(), topic_, payload_}); }

    // Several rows in one INSERT, which is a transaction by itself.
    void insert_many(std::size_t count, const std::string&) override {
        std::string sql = "INSERT INTO message (id, topic, payload) VALUES ";
        for (std::size_t i = 0; i < count; ++i) {
            sql += fmt::format("{}({},'{}','{}')", i == 0 ? "" : ",",
                               connection_.quoted(random_id()), topic_, payload_);
        }
        connection_.execute(sql);
    }

    std::size_t drain(std::size_t batch) override {
        const Stopwatch watch;
        begin();
        const std::string seqs = joined(connection_.rows(
            fmt::format("SELECT seq, topic, payload FROM message WHERE status = 0 AND due_at <= "
                        "current_timestamp(6) ORDER BY due_at, seq LIMIT {} FOR UPDATE SKIP LOCKED",
                        batch)));
        if (!seqs.empty()) {
            connection_.execute(
                "UPDATE message SET status = 1, attempts = attempts + 1, "
                "lease_until = current_timestamp(6) + INTERVAL 30 SECOND "
                "WHERE seq IN (" +
                seqs + ")");
        }
        commit();
        last_claim_ = watch.seconds();
        if (seqs.empty()) return 0;
        return connection_.execute("DELETE FROM message WHERE seq IN (" + seqs + ")");
    }
    double last_claim() const override { return last_claim_; }

    void receive(std::size_t count) override {
        static std::atomic<std::uint64_t> next{0};
        std::string sql =
            "INSERT IGNORE INTO received (source, message_id, topic, payload) VALUES ";
        for (std::size_t i = 0; i < count; ++i) {
            sql += fmt::format("{}('bench','message-{}','{}','{}')", i == 0 ? "" : ",", ++next,
                               topic_, payload_);
        }
        connection_.execute(sql);
    }
    std::size_t process(std::size_t batch) override {
        begin();
        const std::string seqs = joined(connection_.rows(
            fmt::format("SELECT seq, topic, payload FROM received WHERE status = 0 "
                        "ORDER BY seq LIMIT {} FOR UPDATE SKIP LOCKED",
                        batch)));
        if (!seqs.empty())
            connection_.execute("UPDATE received SET status = 1 WHERE seq IN (" + seqs + ")");
        commit();
        if (seqs.empty()) return 0;
        return connection_.execute("UPDATE received SET status = 2, payload = NULL WHERE seq IN (" +
                                   seqs + ")");
    }

    std::unique_ptr<postroom::TxContext> borrow(postroom::BorrowOptions options) override {
        return postroom::mysql::borrow(connection_.native(), options);
    }

private:
    static std::string joined(const std::vector<std::string>& values) {
        return fmt::format("{}", fmt::join(values, ","));
    }

    MariadbConnection connection_;
    MariadbStatement insert_;
    MariadbStatement update_;
    const std::string topic_ = "order.placed";
    const std::string payload_ = sample_payload();
    double last_claim_ = 0;
};

class MariadbFloor final : public Floor {
public:
    explicit MariadbFloor(std::string url) : url_(std::move(url)) {
        MariadbConnection connection(url_);
        for (const std::string& sql : tables) connection.execute(sql);
    }
    std::unique_ptr<FloorConnection> connect() override {
        return std::make_unique<MariadbFloorConnection>(url_);
    }
    std::vector<std::string> bulk_ways() const override { return {"one INSERT"}; }
    std::string update_sql() const override { return update_account_sql; }

private:
    const std::string url_;
};

}  // namespace

std::unique_ptr<Floor> make_mariadb_floor(const std::string& url) {
    return std::make_unique<MariadbFloor>(url);
}

}  // namespace bench
