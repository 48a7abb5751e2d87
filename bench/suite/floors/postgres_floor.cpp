#include "suite/floors/postgres_floor.hpp"

#include <libpq-fe.h>

#include <atomic>
#include <stdexcept>

#include "postroom/backend/postgres.hpp"
#include "storage/measure.hpp"
#include "storage/postgres_connection.hpp"

namespace bench {
namespace {

constexpr Oid uuid_oid = 2950;
constexpr Oid text_oid = 25;
constexpr Oid bytea_oid = 17;

// What people write, and what the bars were set against: the payload as JSON.
constexpr const char* tables = R"sql(
CREATE TABLE message (
    id          uuid PRIMARY KEY,
    seq         bigint GENERATED ALWAYS AS IDENTITY,
    topic       text NOT NULL,
    payload     jsonb NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    due_at      timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz,
    owner       uuid,
    status      smallint NOT NULL DEFAULT 0,
    attempts    int NOT NULL DEFAULT 0,
    last_error  text,
    processed_at timestamptz
);
CREATE INDEX message_ready ON message (due_at, seq) WHERE status = 0;
CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO account SELECT n, 0 FROM generate_series(0, 63) n;
CREATE TABLE received (
    source      text NOT NULL,
    message_id  text NOT NULL,
    seq         bigint GENERATED ALWAYS AS IDENTITY,
    topic       text NOT NULL,
    payload     bytea,
    first_seen  timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz,
    owner       uuid,
    status      smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (source, message_id)
);
CREATE INDEX received_ready ON received (seq) WHERE status = 0;
)sql";

constexpr const char* insert_sql =
    "INSERT INTO message (id, topic, payload) VALUES ($1::uuid, $2::text, $3::text::jsonb)";
constexpr const char* insert_many_sql =
    "INSERT INTO message (id, topic, payload) "
    "SELECT i, t, p::jsonb FROM unnest($1::uuid[], $2::text[], $3::text[]) AS u(i, t, p)";
constexpr const char* update_account_sql =
    "UPDATE account SET balance = balance + 1 WHERE id = $1::bigint";
constexpr const char* claim_sql = R"sql(
WITH chosen AS (
    SELECT id FROM message WHERE status = 0 AND due_at <= now()
    ORDER BY due_at, seq LIMIT $1::bigint FOR UPDATE SKIP LOCKED)
UPDATE message m SET status = 1, owner = $2::uuid, lease_until = now() + interval '30 s',
       attempts = attempts + 1
  FROM chosen WHERE m.id = chosen.id RETURNING m.id, m.topic, m.payload)sql";
constexpr const char* pinned_claim = "pinned claim";
constexpr const char* pinned_claim_sql = R"sql(
UPDATE message m SET status = 1, owner = $2::uuid, lease_until = now() + interval '30 s',
       attempts = attempts + 1
 WHERE m.id = ANY (ARRAY(SELECT id FROM message WHERE status = 0 AND due_at <= now()
                          ORDER BY due_at, seq LIMIT $1::bigint FOR UPDATE SKIP LOCKED))
RETURNING m.id, m.topic, m.payload)sql";
constexpr const char* receive_sql =
    "INSERT INTO received (source, message_id, topic, payload) "
    "SELECT 'bench', * FROM unnest($1::text[], $2::text[], $3::bytea[]) ON CONFLICT DO NOTHING";
constexpr const char* take_sql = R"sql(
WITH chosen AS (
    SELECT source, message_id FROM received WHERE status = 0
    ORDER BY seq LIMIT $1::bigint FOR UPDATE SKIP LOCKED)
UPDATE received r SET status = 1, owner = $2::uuid, lease_until = now() + interval '30 s'
  FROM chosen c WHERE r.source = c.source AND r.message_id = c.message_id
RETURNING r.message_id, r.topic, r.payload)sql";
constexpr const char* processed_sql =
    "UPDATE received SET status = 2, payload = NULL "
    "WHERE source = 'bench' AND message_id = ANY ($1::text[])";

std::string random_uuid() { return encode(random_int64()) + encode(random_int64()); }

class PostgresFloorConnection final : public FloorConnection {
public:
    explicit PostgresFloorConnection(const std::string& url) : connection_(url) {
        connection_.prepare("begin", "BEGIN");
        connection_.prepare("commit", "COMMIT");
        connection_.prepare("insert", insert_sql);
        connection_.prepare("insert_many", insert_many_sql);
        connection_.prepare("update", update_account_sql);
        connection_.prepare("claim", claim_sql);
        connection_.prepare("ack", "DELETE FROM message WHERE id = ANY ($1::uuid[])");
        connection_.prepare("receive", receive_sql);
        connection_.prepare("take", take_sql);
        connection_.prepare("processed", processed_sql);
    }

    void begin() override { connection_.run("begin", {}); }
    void commit() override { connection_.run("commit", {}); }
    void update_account(int account) override {
        connection_.run("update", {encode(std::int64_t{account})});
    }
    void insert() override { connection_.run("insert", {random_uuid(), topic_, payload_}); }
    void insert_and_commit() override {
        connection_.queue("insert", {random_uuid(), topic_, payload_});
        connection_.queue("commit");
        connection_.queue_sync();
        connection_.finish();
    }

    void insert_many(std::size_t count, const std::string& way) override {
        if (way == "COPY") return copy(count);
        std::vector<std::string> ids(count);
        for (std::string& id : ids) id = random_uuid();
        connection_.run(
            "insert_many",
            {encode(ids, uuid_oid), encode(std::vector<std::string>(count, topic_), text_oid),
             encode(std::vector<std::string>(count, payload_), text_oid)});
    }

    // Without statistics the planner scans the table for a claim, and joins by scanning it again.
    void pin_plans() override {
        if (claim_ == pinned_claim) return;
        claim_ = pinned_claim;
        connection_.execute("SET enable_seqscan = off; SET enable_bitmapscan = off");
        connection_.prepare(claim_, pinned_claim_sql);
    }

    std::size_t drain(std::size_t batch) override {
        const Stopwatch watch;
        const Result claimed =
            connection_.run(claim_, {encode(static_cast<std::int64_t>(batch)), owner_});
        last_claim_ = watch.seconds();
        const std::vector<std::string> ids = first_column(claimed.get());
        if (!ids.empty()) connection_.run("ack", {encode(ids, uuid_oid)});
        return ids.size();
    }
    double last_claim() const override { return last_claim_; }

    void receive(std::size_t count) override {
        static std::atomic<std::uint64_t> next{0};
        std::vector<std::string> ids(count);
        for (std::string& id : ids) id = "message-" + std::to_string(++next);
        connection_.run("receive", {encode(ids, text_oid),
                                    encode(std::vector<std::string>(count, topic_), text_oid),
                                    encode(std::vector<std::string>(count, payload_), bytea_oid)});
    }
    std::size_t process(std::size_t batch) override {
        const Result taken =
            connection_.run("take", {encode(static_cast<std::int64_t>(batch)), owner_});
        const std::vector<std::string> ids = first_column(taken.get());
        if (!ids.empty()) connection_.run("processed", {encode(ids, text_oid)});
        return ids.size();
    }

    std::unique_ptr<postroom::TxContext> borrow(postroom::BorrowOptions options) override {
        return postroom::postgres::borrow(connection_.native(), options);
    }

private:
    static std::vector<std::string> first_column(const PGresult* rows) {
        std::vector<std::string> values;
        for (int row = 0; row < PQntuples(rows); ++row) {
            values.emplace_back(PQgetvalue(rows, row, 0),
                                static_cast<std::size_t>(PQgetlength(rows, row, 0)));
        }
        return values;
    }

    // The binary form: a signature, then for each row the number of its fields and each with its
    // length in front, then -1. JSON begins with the number of its version.
    void copy(std::size_t count) {
        static const std::string signature{"PGCOPY\n\377\r\n\0", 11};
        std::string data = signature + encode32(0) + encode32(0);
        for (std::size_t i = 0; i < count; ++i) {
            data += encode16(3);
            for (const std::string& field : {random_uuid(), topic_, "\1" + payload_})
                data += encode32(static_cast<std::uint32_t>(field.size())) + field;
        }
        data += encode16(0xffff);
        connection_.copy_in("COPY message (id, topic, payload) FROM STDIN (FORMAT binary)", data);
    }
    static std::string encode16(unsigned value) {
        return {static_cast<char>(value >> 8U), static_cast<char>(value & 0xffU)};
    }
    static std::string encode32(std::uint32_t value) {
        return encode16(value >> 16U) + encode16(value & 0xffffU);
    }

    Connection connection_;
    const char* claim_ = "claim";
    const std::string owner_ = random_uuid();
    const std::string topic_ = "order.placed";
    const std::string payload_ = sample_payload();
    double last_claim_ = 0;
};

class PostgresFloor final : public Floor {
public:
    explicit PostgresFloor(std::string url) : url_(std::move(url)) {
        Connection(url_).execute(tables);
    }
    std::unique_ptr<FloorConnection> connect() override {
        return std::make_unique<PostgresFloorConnection>(url_);
    }
    std::vector<std::string> bulk_ways() const override { return {"unnest", "COPY"}; }
    bool pipelines() const override { return true; }
    bool pins() const override { return true; }
    std::string update_sql() const override { return update_account_sql; }

private:
    const std::string url_;
};

}  // namespace

std::unique_ptr<Floor> make_postgres_floor(const std::string& url) {
    return std::make_unique<PostgresFloor>(url);
}

}  // namespace bench
