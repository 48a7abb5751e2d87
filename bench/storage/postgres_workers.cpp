#include "postgres_workers.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "measure.hpp"
#include "postgres_schema.hpp"

namespace bench {
namespace {

constexpr Oid kUuidOid = 2950;
// How far below the mark a claim looks for messages that were committed late.
constexpr std::int64_t kSlack = 1000;

std::string random_uuid() { return encode(random_int64()) + encode(random_int64()); }

class RawWorker final : public Worker {
public:
    RawWorker(const std::string& conninfo, int batch) : connection_(conninfo), batch_(batch) {
        connection_.prepare("claim", schema::raw_claim());
        connection_.prepare("ack", schema::raw_ack());
    }

    std::size_t step() override {
        finish();
        const Result claimed = connection_.run("claim", {encode(std::int64_t{batch_}), owner_});
        for (int row = 0; row < PQntuples(claimed.get()); ++row)
            ids_.emplace_back(PQgetvalue(claimed.get(), row, 0), 16);
        return ids_.size();
    }

    void finish() override {
        if (!ids_.empty()) connection_.run("ack", {encode(ids_, kUuidOid)});
        ids_.clear();
    }

    double server_cpu() const override { return connection_.server_cpu(); }

private:
    Connection connection_;
    int batch_;
    std::string owner_ = random_uuid();
    std::vector<std::string> ids_;
};

// What both lease shapes remember between two steps.
struct Batch {
    std::vector<std::int64_t> seqs;
    std::vector<std::int64_t> nonces;
    std::int64_t lease_id = 0;
    std::int64_t highest = 0;

    void take(const PGresult* claimed, const PGresult* rows) {
        seqs.clear();
        nonces.clear();
        for (int row = 0; row < PQntuples(rows); ++row) {
            seqs.push_back(decode_int64(rows, row, 0));
            nonces.push_back(decode_int64(rows, row, 1));
        }
        if (decode_int64(claimed, 0, 0) != static_cast<std::int64_t>(seqs.size())) {
            std::fprintf(stderr, "claimed %lld messages, read %zu\n",
                         static_cast<long long>(decode_int64(claimed, 0, 0)), seqs.size());
            std::exit(1);
        }
        highest = std::max(highest, decode_int64(claimed, 0, 2));
    }
    // A number known to lie below the next batch.
    std::int64_t floor(int batch) const {
        return std::max<std::int64_t>(0, highest - std::int64_t{4} * batch - kSlack);
    }
};

// The list of nonces is searched linearly for every row, so long batches are acked in parts.
constexpr std::size_t kChunk = 200;

void queue_ack_chunks(Connection& connection, const Batch& batch) {
    const auto part = [](const std::vector<std::int64_t>& values, std::size_t from) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
        const auto count = std::min(kChunk, values.size() - from);
        return encode(std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(count)));
    };
    for (std::size_t from = 0; from < batch.seqs.size(); from += kChunk)
        connection.queue(
            "ack", {part(batch.seqs, from), part(batch.nonces, from), encode(batch.lease_id)});
}

class StatementWorker final : public Worker {
public:
    StatementWorker(const std::string& conninfo, int batch) : connection_(conninfo), size_(batch) {
        connection_.prepare("begin", "BEGIN ISOLATION LEVEL READ COMMITTED");
        connection_.prepare("commit", "COMMIT");
        connection_.prepare("lock", schema::pins_statement(true));
        connection_.prepare("pins", schema::pins_statement(false));
        connection_.prepare("claim", schema::lease_claim());
        connection_.prepare("read", schema::lease_read());
        connection_.prepare("ack", schema::lease_ack());
    }

    std::size_t step() override {
        queue_ack();
        batch_.lease_id = random_int64();
        connection_.queue("begin");
        connection_.queue("lock");
        connection_.queue("claim", {encode(std::int64_t{size_}), encode(kSlack),
                                    encode(batch_.lease_id), owner_});
        connection_.queue("commit");
        connection_.queue("pins");
        connection_.queue("read", {encode(batch_.lease_id), encode(batch_.floor(size_))});
        connection_.queue_sync();
        const auto results = connection_.finish();
        batch_.take(results[results.size() - 4].get(), results.back().get());
        return batch_.seqs.size();
    }

    void finish() override {
        if (!queue_ack()) return;
        connection_.queue_sync();
        connection_.finish();
        batch_.seqs.clear();
    }

    double server_cpu() const override { return connection_.server_cpu(); }

private:
    bool queue_ack() {
        if (batch_.seqs.empty()) return false;
        connection_.queue("begin");
        connection_.queue("pins");
        queue_ack_chunks(connection_, batch_);
        connection_.queue("commit");
        return true;
    }

    Connection connection_;
    int size_;
    std::string owner_ = random_uuid();
    Batch batch_;
};

class FunctionWorker final : public Worker {
public:
    FunctionWorker(const std::string& conninfo, int batch, const FunctionShape& shape)
        : connection_(conninfo), size_(batch), one_sync_(shape.one_sync) {
        connection_.prepare("claim", "SELECT * FROM shapes." + shape.claim + "($1, $2, $3, $4)");
        connection_.prepare("ack", "SELECT shapes." + shape.ack + "($1, $2, $3)");
        connection_.prepare("read", "SELECT * FROM shapes." + shape.read + "($1, $2)");
        connection_.prepare("begin", "BEGIN ISOLATION LEVEL READ COMMITTED");
        connection_.prepare("commit", "COMMIT");
    }

    std::size_t step() override {
        queue_ack();
        batch_.lease_id = random_int64();
        begin_unit();
        connection_.queue("claim", {encode(std::int64_t{size_}), encode(kSlack),
                                    encode(batch_.lease_id), owner_});
        end_unit();
        connection_.queue("read", {encode(batch_.lease_id), encode(batch_.floor(size_))});
        connection_.queue_sync();
        const auto results = connection_.finish();
        batch_.take(results[results.size() - (one_sync_ ? 3 : 2)].get(), results.back().get());
        return batch_.seqs.size();
    }

    void finish() override {
        if (!queue_ack()) return;
        if (one_sync_) connection_.queue_sync();
        connection_.finish();
        batch_.seqs.clear();
    }

    double server_cpu() const override { return connection_.server_cpu(); }

private:
    // A transaction of its own inside the pipeline: ended by COMMIT, or by a Sync.
    void begin_unit() {
        if (one_sync_) connection_.queue("begin");
    }
    void end_unit() {
        if (one_sync_)
            connection_.queue("commit");
        else
            connection_.queue_sync();
    }
    bool queue_ack() {
        if (batch_.seqs.empty()) return false;
        begin_unit();
        queue_ack_chunks(connection_, batch_);
        end_unit();
        return true;
    }

    Connection connection_;
    int size_;
    bool one_sync_;
    std::string owner_ = random_uuid();
    Batch batch_;
};

}  // namespace

std::unique_ptr<Worker> make_raw_worker(const std::string& conninfo, int batch) {
    return std::make_unique<RawWorker>(conninfo, batch);
}

std::unique_ptr<Worker> make_statement_worker(const std::string& conninfo, int batch) {
    return std::make_unique<StatementWorker>(conninfo, batch);
}

std::unique_ptr<Worker> make_function_worker(const std::string& conninfo, int batch,
                                             const FunctionShape& shape) {
    return std::make_unique<FunctionWorker>(conninfo, batch, shape);
}

}  // namespace bench
