// Compares storage shapes for a work queue in one SQLite file (WAL, synchronous=FULL, one
// connection): inserting a backlog, then claiming and settling it, each batch in its own
// transaction. Usage: sqlite_shapes DIRECTORY [--quick]. It makes and removes database files there.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "measure.hpp"
#include "sqlite_database.hpp"

namespace bench {
namespace {

constexpr std::int64_t kClock = 1'000'000;
constexpr std::int64_t kLease = 30'000;

// One way to store messages. Parameters: insert none; claim ?1 batch, ?2 lease id, ?3 now; settle
// ?1 seq, ?2 nonce, ?3 lease id. The statements of `settle` run in order for each message.
struct Shape {
    std::string name;
    std::string schema;
    std::string insert;
    std::vector<std::string> claim;  // the last one returns seq, nonce, topic, payload
    std::vector<std::string> settle;
};

struct Columns {
    std::string key = "INTEGER PRIMARY KEY AUTOINCREMENT";
    std::string lease;
};

std::string live_table(const Columns& columns) {
    return "CREATE TABLE live (seq " + columns.key +
           ", nonce INTEGER NOT NULL DEFAULT (random()), message_id TEXT NOT NULL DEFAULT "
           "(lower(hex(randomblob(13)))), created_at INTEGER NOT NULL DEFAULT 0, retry_count "
           "INTEGER "
           "NOT NULL DEFAULT 0, lost_count INTEGER NOT NULL DEFAULT 0" +
           columns.lease + ", topic TEXT NOT NULL, payload BLOB NOT NULL);";
}

constexpr const char* kDoneTable =
    "CREATE TABLE done (seq INTEGER PRIMARY KEY, nonce INTEGER, message_id TEXT, created_at "
    "INTEGER,"
    " processed_at INTEGER, topic TEXT, payload BLOB);";
constexpr const char* kKeep =
    "INSERT INTO done SELECT seq, nonce, message_id, created_at, 1, topic, payload FROM live "
    "WHERE seq = ?1 AND nonce = ?2 AND ?3 <> 0";

std::string insert_statement() {
    return "INSERT INTO live (topic, payload) VALUES ('orders.created', '" + sample_payload() +
           "')";
}

// The lease is in the message row; the claim writes the row and moves its index entry.
Shape status_shape(const std::string& name, const std::string& key) {
    return {name,
            live_table({key,
                        ", status INTEGER NOT NULL DEFAULT 0, lease_id INTEGER, "
                        "locked_until INTEGER, owner TEXT"}) +
                "CREATE INDEX ready ON live (seq) WHERE status = 0;",
            insert_statement(),
            {"UPDATE live SET status = 1, lease_id = ?2, locked_until = ?3, owner = 'a worker' "
             "WHERE seq IN (SELECT seq FROM live WHERE status = 0 ORDER BY seq LIMIT ?1) "
             "RETURNING seq, nonce, topic, payload"},
            {"DELETE FROM live WHERE seq = ?1 AND nonce = ?2 AND lease_id = ?3"}};
}

// The lease is in the message row and nothing that a claim changes is indexed: the claim walks past
// the messages that are leased at the moment.
Shape bare_row_shape() {
    Shape shape = status_shape("one table, no index", "INTEGER PRIMARY KEY AUTOINCREMENT");
    shape.schema = live_table({"INTEGER PRIMARY KEY AUTOINCREMENT",
                               ", lease_id INTEGER, locked_until INTEGER, owner TEXT"});
    shape.claim = {
        "UPDATE live SET lease_id = ?2, locked_until = ?3, owner = 'a worker' WHERE seq IN "
        "(SELECT seq FROM live WHERE lease_id IS NULL ORDER BY seq LIMIT ?1) "
        "RETURNING seq, nonce, topic, payload"};
    return shape;
}

// The lease is in a table of its own; the claim never writes the message row.
Shape lease_shape(const std::string& name, const std::string& lease_index, bool history) {
    Shape shape{
        name,
        live_table({}) +
            "CREATE TABLE lease (seq INTEGER PRIMARY KEY, lease_id INTEGER NOT NULL, "
            "locked_until INTEGER NOT NULL, owner TEXT NOT NULL);" +
            lease_index,
        insert_statement(),
        {"INSERT INTO lease SELECT v.seq, ?2, ?3, 'a worker' FROM live v "
         "WHERE (SELECT l.seq FROM lease l WHERE l.seq = v.seq) IS NULL ORDER BY v.seq LIMIT ?1",
         lease_index.empty()
             ? "SELECT v.seq, v.nonce, v.topic, v.payload FROM lease l CROSS JOIN live v "
               "ON v.seq = l.seq WHERE l.lease_id = ?2 AND ?1 > 0 AND ?3 > 0"
             : "SELECT v.seq, v.nonce, v.topic, v.payload FROM lease l INDEXED BY lease_by_id "
               "CROSS JOIN live v ON v.seq = l.seq WHERE l.lease_id = ?2 AND ?1 > 0 AND ?3 > 0"},
        {"DELETE FROM live WHERE seq = ?1 AND nonce = ?2 AND "
         "(SELECT lease_id FROM lease WHERE seq = ?1) = ?3",
         "DELETE FROM lease WHERE seq = ?1 AND lease_id = ?3 AND ?2 IS NOT NULL"}};
    if (history) {
        shape.schema += kDoneTable;
        shape.settle.insert(shape.settle.begin(), kKeep);
    }
    return shape;
}

std::vector<Shape> shapes() {
    Shape kept = status_shape("one table, history", "INTEGER PRIMARY KEY AUTOINCREMENT");
    kept.schema += kDoneTable;
    kept.settle.insert(kept.settle.begin(), kKeep);
    return {status_shape("one table, partial index", "INTEGER PRIMARY KEY AUTOINCREMENT"),
            status_shape("  without AUTOINCREMENT", "INTEGER PRIMARY KEY"),
            bare_row_shape(),
            lease_shape("lease table", "", false),
            lease_shape("lease table, lease_id index",
                        "CREATE INDEX lease_by_id ON lease (lease_id);", false),
            kept,
            lease_shape("lease table, history", "", true)};
}

struct Claimed {
    std::int64_t seq;
    std::int64_t nonce;
};

struct Samples {
    std::vector<double> insert_rate;
    std::vector<double> drain_rate;
    std::vector<double> drain_cpu;
};

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::size_t claim(Database& database, const Shape& shape, int batch, std::int64_t lease_id,
                  std::vector<Claimed>& claimed) {
    claimed.clear();
    database.run("BEGIN IMMEDIATE");
    for (const auto& statement : shape.claim)
        database.run(statement, {batch, lease_id, kClock + kLease}, [&](sqlite3_stmt* row) {
            claimed.push_back({sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)});
        });
    database.run("COMMIT");
    return claimed.size();
}

void settle(Database& database, const Shape& shape, std::int64_t lease_id,
            const std::vector<Claimed>& claimed) {
    database.run("BEGIN IMMEDIATE");
    for (const auto& [seq, nonce] : claimed)
        for (const auto& statement : shape.settle) database.run(statement, {seq, nonce, lease_id});
    database.run("COMMIT");
}

void measure(const std::string& directory, const Shape& shape, int batch, int count,
             Samples& samples) {
    const std::string path = directory + "/shapes.db";
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
    Database database{path};
    database.execute(shape.schema);

    const Stopwatch inserting;
    for (int done = 0; done < count; done += batch) {
        database.run("BEGIN IMMEDIATE");
        for (int i = 0; i < batch; ++i) database.run(shape.insert);
        database.run("COMMIT");
    }
    samples.insert_rate.push_back(count / inserting.seconds());

    const double cpu = cpu_seconds();
    const Stopwatch draining;
    std::vector<Claimed> claimed;
    int drained = 0;
    std::int64_t lease_id = random_int64();
    while (const std::size_t size = claim(database, shape, batch, lease_id, claimed)) {
        settle(database, shape, lease_id, claimed);
        drained += static_cast<int>(size);
        lease_id = random_int64();
    }
    samples.drain_rate.push_back(count / draining.seconds());
    samples.drain_cpu.push_back((cpu_seconds() - cpu) / count * 1e6);
    if (drained != count) {
        std::fprintf(stderr, "%s drained %d of %d\n", shape.name.c_str(), drained, count);
        std::exit(1);
    }
}

int run(const std::string& directory, bool quick) {
    const auto all = shapes();
    for (const int batch : {1, 100, 1000}) {
        // Single-row commits are bound by the disk: a few hundred show it.
        const int count = (batch == 1 ? 600 : 30000) / (quick ? 3 : 1);
        std::vector<Samples> samples(all.size());
        for (int repetition = 0; repetition < 3; ++repetition)
            for (std::size_t i = 0; i < all.size(); ++i)
                measure(directory, all[i], batch, count, samples[i]);
        std::printf(
            "\nbatch %d: insert msg/s (ratio to first), claim+settle msg/s [min-max] (ratio), "
            "CPU us/msg (ratio)\n",
            batch);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Samples& own = samples[i];
            std::printf(
                "  %-28s %7.0f (%.2f) | %7.0f [%.0f-%.0f] (%.2f) | %5.1f (%.2f)\n",
                all[i].name.c_str(), median(own.insert_rate),
                median(own.insert_rate) / median(samples[0].insert_rate), median(own.drain_rate),
                percentile(own.drain_rate, 0), percentile(own.drain_rate, 1),
                median(own.drain_rate) / median(samples[0].drain_rate), median(own.drain_cpu),
                median(own.drain_cpu) / median(samples[0].drain_cpu));
        }
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
    return bench::run_comparison(argc, argv, "DIRECTORY", bench::run);
}
