#include "suite/floors/sqlite_floor.hpp"

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "postroom/backend/sqlite.hpp"
#include "storage/measure.hpp"

namespace bench {
namespace {

constexpr const char* tables = R"sql(
CREATE TABLE message (
    seq         INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE,
    topic       TEXT NOT NULL,
    payload     BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    due_at      INTEGER NOT NULL,
    lease_until INTEGER,
    owner       BLOB,
    status      INTEGER NOT NULL DEFAULT 0,
    attempts    INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX message_ready ON message (due_at, seq) WHERE status = 0;
CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 63)
INSERT INTO account SELECT i, 0 FROM n;
CREATE TABLE received (
    seq         INTEGER PRIMARY KEY,
    source      TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    topic       TEXT NOT NULL,
    payload     BLOB,
    first_seen  INTEGER NOT NULL,
    status      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (source, message_id)
);
CREATE INDEX received_ready ON received (seq) WHERE status = 0;
)sql";

constexpr const char* update_account_sql = "UPDATE account SET balance = balance + 1 WHERE id = ?1";

[[noreturn]] void give_up(sqlite3* database, const std::string& what) {
    throw std::runtime_error(what + ": " + sqlite3_errmsg(database));
}

struct DatabaseCloser {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using DatabaseHandle = std::unique_ptr<sqlite3, DatabaseCloser>;

DatabaseHandle open_database(const std::string& path) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(path.c_str(), &opened);
    DatabaseHandle database(opened);
    if (code != SQLITE_OK) give_up(opened, path);
    sqlite3_busy_timeout(opened, 30'000);
    if (sqlite3_exec(opened, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", nullptr,
                     nullptr, nullptr) != SQLITE_OK)
        give_up(opened, "pragmas");
    return database;
}

// A prepared statement.
class Statement {
public:
    Statement(sqlite3* database, const char* sql) : database_(database), sql_(sql) {
        if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_,
                               nullptr) != SQLITE_OK)
            give_up(database, sql);
    }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement() { sqlite3_finalize(statement_); }

    Statement& bind(int index, std::int64_t value) {
        sqlite3_bind_int64(statement_, index, value);
        return *this;
    }
    Statement& bind_text(int index, const std::string& value) {
        sqlite3_bind_text(statement_, index, value.data(), static_cast<int>(value.size()),
                          SQLITE_STATIC);
        return *this;
    }
    Statement& bind_blob(int index, const std::string& value) {
        sqlite3_bind_blob(statement_, index, value.data(), static_cast<int>(value.size()),
                          SQLITE_STATIC);
        return *this;
    }

    template <class OnRow>
    void run(OnRow on_row) {
        int code = SQLITE_ROW;
        while ((code = sqlite3_step(statement_)) == SQLITE_ROW) on_row(statement_);
        if (code != SQLITE_DONE) give_up(database_, sql_);
        sqlite3_reset(statement_);
    }
    void run() {
        run([](sqlite3_stmt*) {});
    }

private:
    sqlite3* database_;
    std::string sql_;
    sqlite3_stmt* statement_ = nullptr;
};

std::string random_id() {
    const std::int64_t parts[2] = {random_int64(), random_int64()};
    return {reinterpret_cast<const char*>(parts), sizeof parts};
}

class SqliteFloorConnection final : public FloorConnection {
public:
    explicit SqliteFloorConnection(const std::string& path) : database_(open_database(path)) {}

    void begin() override { begin_.run(); }
    void commit() override { commit_.run(); }
    void update_account(int account) override { update_.bind(1, account).run(); }
    void insert() override {
        const std::string id = random_id();
        insert_.bind_blob(1, id).bind_text(2, topic_).bind_blob(3, payload_).bind(4, 1).run();
    }
    void insert_many(std::size_t count, const std::string&) override {
        begin();
        for (std::size_t i = 0; i < count; ++i) insert();
        commit();
    }

    std::size_t drain(std::size_t batch) override {
        const Stopwatch watch;
        std::vector<std::int64_t> seqs;
        std::size_t bytes = 0;
        claim_.bind(1, static_cast<std::int64_t>(batch)).run([&](sqlite3_stmt* row) {
            seqs.push_back(sqlite3_column_int64(row, 0));
            bytes += static_cast<std::size_t>(sqlite3_column_bytes(row, 2));
        });
        last_claim_ = watch.seconds();
        if (bytes != seqs.size() * payload_.size()) throw std::runtime_error("a payload is short");
        if (seqs.empty()) return 0;
        begin();
        for (const std::int64_t seq : seqs) ack_.bind(1, seq).run();
        commit();
        return seqs.size();
    }
    double last_claim() const override { return last_claim_; }

    void receive(std::size_t count) override {
        static std::atomic<std::uint64_t> next{0};
        begin();
        for (std::size_t i = 0; i < count; ++i) {
            const std::string id = "message-" + std::to_string(++next);
            receive_.bind_text(1, id).bind_text(2, topic_).bind_blob(3, payload_).run();
        }
        commit();
    }
    std::size_t process(std::size_t batch) override {
        std::vector<std::int64_t> seqs;
        take_.bind(1, static_cast<std::int64_t>(batch)).run([&](sqlite3_stmt* row) {
            seqs.push_back(sqlite3_column_int64(row, 0));
        });
        begin();
        for (const std::int64_t seq : seqs) processed_.bind(1, seq).run();
        commit();
        return seqs.size();
    }

    std::unique_ptr<postroom::TxContext> borrow(postroom::BorrowOptions options) override {
        return postroom::sqlite::borrow(database_.get(), options);
    }

private:
    const std::string topic_ = "order.placed";
    const std::string payload_ = sample_payload();
    double last_claim_ = 0;
    const DatabaseHandle database_;
    Statement begin_{database_.get(), "BEGIN IMMEDIATE"};
    Statement commit_{database_.get(), "COMMIT"};
    Statement update_{database_.get(), update_account_sql};
    Statement insert_{database_.get(),
                      "INSERT INTO message (id, topic, payload, created_at, due_at) "
                      "VALUES (?1, ?2, ?3, ?4, ?4)"};
    Statement claim_{database_.get(),
                     "UPDATE message SET status = 1, lease_until = 30, attempts = attempts + 1 "
                     "WHERE seq IN (SELECT seq FROM message WHERE status = 0 AND due_at <= 2 "
                     "ORDER BY due_at, seq LIMIT ?1) RETURNING seq, topic, payload"};
    Statement ack_{database_.get(), "DELETE FROM message WHERE seq = ?1 AND status = 1"};
    Statement receive_{database_.get(),
                       "INSERT INTO received (source, message_id, topic, payload, first_seen) "
                       "VALUES ('bench', ?1, ?2, ?3, 1) ON CONFLICT DO NOTHING"};
    Statement take_{database_.get(),
                    "UPDATE received SET status = 1 WHERE seq IN (SELECT seq FROM received "
                    "WHERE status = 0 ORDER BY seq LIMIT ?1) RETURNING seq, topic, payload"};
    Statement processed_{database_.get(),
                         "UPDATE received SET status = 2, payload = NULL WHERE seq = ?1"};
};

class SqliteFloor final : public Floor {
public:
    explicit SqliteFloor(std::string path) : path_(std::move(path)) {
        const DatabaseHandle database = open_database(path_);
        if (sqlite3_exec(database.get(), tables, nullptr, nullptr, nullptr) != SQLITE_OK)
            give_up(database.get(), "tables");
    }
    std::unique_ptr<FloorConnection> connect() override {
        return std::make_unique<SqliteFloorConnection>(path_);
    }
    std::vector<std::string> bulk_ways() const override { return {"prepared INSERT"}; }
    std::string update_sql() const override { return update_account_sql; }

private:
    const std::string path_;
};

}  // namespace

std::unique_ptr<Floor> make_sqlite_floor(const std::string& path) {
    return std::make_unique<SqliteFloor>(path);
}

}  // namespace bench
