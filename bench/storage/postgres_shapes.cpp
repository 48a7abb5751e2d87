// Compares storage shapes for a work queue on a PostgreSQL server of this machine: how fast a
// backlog is drained, what it costs in server CPU and WAL, and what an old snapshot does to the
// claim. Usage: postgres_shapes CONNINFO [--quick]. It drops and makes the schema `shapes` of that
// database.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "measure.hpp"
#include "postgres_schema.hpp"
#include "postgres_workers.hpp"

namespace bench {
namespace {

struct Scale {
    int messages = 30000;
    int repetitions = 3;
    std::vector<int> worker_counts{1, 2};
    double snapshot_seconds = 20;
};

struct Shape {
    std::string name;
    std::string fill;
    std::string produce;
    std::function<std::unique_ptr<Worker>(int batch)> make_worker;
};

struct Samples {
    std::vector<double> rate;
    std::vector<double> cpu;
    std::vector<double> drain_wal;
    std::vector<double> lifecycle_wal;
};

double wal_position(Connection& admin) {
    return std::stod(admin.scalar("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"));
}

// Fills the table and lets `workers` threads drain it; a wrong count ends the program.
void drain(Connection& admin, const Shape& shape, int batch, int workers, int expected,
           Samples& samples) {
    const double before = wal_position(admin);
    admin.execute(shape.fill);
    const double filled = wal_position(admin);
    std::vector<std::unique_ptr<Worker>> made;
    for (int i = 0; i < workers; ++i) made.push_back(shape.make_worker(batch));

    const Stopwatch watch;
    std::atomic<std::size_t> drained{0};
    std::vector<std::thread> threads;
    for (const auto& worker : made)
        threads.emplace_back([&] {
            while (const std::size_t count = worker->step()) drained += count;
            worker->finish();
        });
    for (auto& thread : threads) thread.join();
    const double seconds = watch.seconds();

    if (drained != static_cast<std::size_t>(expected)) {
        std::fprintf(stderr, "%s drained %zu of %d\n", shape.name.c_str(), drained.load(),
                     expected);
        std::exit(1);
    }
    double cpu = 0;
    for (const auto& worker : made) cpu += worker->server_cpu();
    const double after = wal_position(admin);
    samples.rate.push_back(expected / seconds);
    samples.cpu.push_back(cpu / expected * 1e6);
    samples.drain_wal.push_back((after - filled) / expected);
    samples.lifecycle_wal.push_back((after - before) / expected);
}

// One table of the report; the repetitions of all shapes are interleaved, the first is the
// reference.
void compare(Connection& admin, const std::vector<Shape>& shapes, int batch, int workers,
             const Scale& scale) {
    std::vector<Samples> samples(shapes.size());
    for (int repetition = 0; repetition < scale.repetitions; ++repetition)
        for (std::size_t i = 0; i < shapes.size(); ++i)
            drain(admin, shapes[i], batch, workers, scale.messages, samples[i]);

    std::printf(
        "\n%d worker(s), batch %d: msg/s median [min-max], ratio to first, server CPU us/msg "
        "(ratio), WAL B/msg drain / lifecycle\n",
        workers, batch);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const Samples& own = samples[i];
        std::printf("  %-28s %7.0f [%.0f-%.0f] %5.2f | %5.1f (%.2f) | %4.0f / %4.0f\n",
                    shapes[i].name.c_str(), median(own.rate), percentile(own.rate, 0),
                    percentile(own.rate, 1), median(own.rate) / median(samples[0].rate),
                    median(own.cpu), median(own.cpu) / median(samples[0].cpu),
                    median(own.drain_wal), median(own.lifecycle_wal));
    }
    std::fflush(stdout);
}

constexpr int kProducedPerTick = 30;
constexpr auto kTick = std::chrono::milliseconds(10);

void produce(const std::string& conninfo, const Shape& shape, const std::atomic<bool>& stop) {
    Connection connection{conninfo};
    connection.prepare("produce", shape.produce);
    auto next = std::chrono::steady_clock::now();
    while (!stop) {
        connection.run("produce", {encode(std::int64_t{kProducedPerTick})});
        next += kTick;
        std::this_thread::sleep_until(next);
    }
}

// About 3,000 messages a second in and out while a snapshot is held: how long one step (ack of the
// last batch, claim and read of the next) takes at the start and at the end.
void hold_snapshot(const std::string& conninfo, const Shape& shape, const Scale& scale) {
    constexpr int kBatch = 100;
    Connection holder{conninfo};
    holder.execute(shape.fill);
    holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");

    struct Step {
        double at;
        double milliseconds;
    };
    std::mutex mutex;
    std::vector<Step> steps;
    std::atomic<bool> stop{false};
    const Stopwatch run;
    std::vector<std::thread> threads;
    threads.emplace_back([&] { produce(conninfo, shape, stop); });
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] {
            const auto worker = shape.make_worker(kBatch);
            while (!stop) {
                const Stopwatch watch;
                const std::size_t count = worker->step();
                {
                    const std::lock_guard lock(mutex);
                    if (count > 0) steps.push_back({run.seconds(), watch.seconds() * 1e3});
                }
                if (count < kBatch) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
            worker->finish();
        });
    std::this_thread::sleep_for(std::chrono::duration<double>(scale.snapshot_seconds));
    stop = true;
    for (auto& thread : threads) thread.join();

    const double window = scale.snapshot_seconds / 5;
    std::printf("  %-28s p50 ms per fifth of the run:", shape.name.c_str());
    for (int part = 0; part < 5; ++part) {
        std::vector<double> own;
        for (const auto& step : steps)
            if (step.at >= part * window && step.at < (part + 1) * window)
                own.push_back(step.milliseconds);
        std::printf(" %.2f", median(own));
    }
    std::printf("\n");
    std::fflush(stdout);
}

int run(const std::string& conninfo, bool quick) {
    Scale scale;
    if (quick) scale = {10000, 3, {1}, 5};
    Connection admin{conninfo};
    admin.execute(schema::create());

    const int count = scale.messages;
    const auto lease_shape = [&](const std::string& name, const std::string& fill,
                                 const FunctionShape& functions) {
        return Shape{name, fill, schema::produce_live(),
                     [=](int batch) { return make_function_worker(conninfo, batch, functions); }};
    };
    const std::string live = schema::fill_live(count);
    const Shape raw{"raw SKIP LOCKED", schema::fill_raw(count), schema::produce_raw(),
                    [&](int batch) { return make_raw_worker(conninfo, batch); }};
    const Shape statements{"leases, statements", live, schema::produce_live(),
                           [&](int batch) { return make_statement_worker(conninfo, batch); }};
    const Shape functions = lease_shape("leases, functions", live, {});
    const Shape syncs =
        lease_shape("leases, functions, 3 syncs", live, {"claim", "read", "ack", false});
    for (const int workers : scale.worker_counts)
        for (const int batch : {100, 1000})
            compare(admin, {raw, statements, functions, syncs}, batch, workers, scale);

    const FunctionShape both{"claim_both", "read_both", "ack_both", true};
    const std::vector<Shape> variants{
        functions,
        lease_shape("no pins, custom plans", live, {"claim_custom", "read", "ack_custom", true}),
        lease_shape("with 20,000 parked", live + ";" + schema::fill_waiting(20000, 0), both),
        lease_shape(
            "a tenth due in waiting",
            schema::fill_live(count - count / 10) + ";" + schema::fill_waiting(20000, count / 10),
            both),
        lease_shape("history, plain table", live, {"claim", "read", "ack_done", true}),
        lease_shape("history, partitions by day", live, {"claim", "read", "ack_done_by_day", true}),
    };
    for (const int batch : {100, 1000}) compare(admin, variants, batch, 1, scale);
    // Generic plans without pins: so slow that one batch size shows it.
    compare(admin,
            {functions, lease_shape("no pins, generic plans", live,
                                    {"claim_unpinned", "read", "ack_unpinned", true})},
            1000, 1, scale);

    std::printf("\nold snapshot held, 3,000 msg/s, 2 workers, batch 100, %.0f s\n",
                scale.snapshot_seconds);
    for (Shape shape : {raw, functions}) {
        shape.fill = shape.name == raw.name ? schema::fill_raw(3000) : schema::fill_live(3000);
        hold_snapshot(conninfo, shape, scale);
    }
    return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
    return bench::run_comparison(argc, argv, "CONNINFO", bench::run);
}
