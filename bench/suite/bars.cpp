#include "suite/bars.hpp"

#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char* pg = "postgresql";

std::vector<Bar> postgres_bars() {
    return {
        {"enqueue in a business transaction, 8 writers", "enqueue_business", pg, "8 writers",
         "enqueue, our transaction", "with INSERT", metric::rate, true, 0.95},
        {"enqueue in a business transaction, 32 writers", "enqueue_business", pg, "32 writers",
         "enqueue, our transaction", "with INSERT", metric::rate, true, 0.95},
        {"posted in a business transaction, 8 writers", "enqueue_business", pg, "8 writers",
         "post, our transaction", "with INSERT", metric::rate, true, 0.95},
        {"posted in a business transaction, 32 writers", "enqueue_business", pg, "32 writers",
         "post, our transaction", "with INSERT", metric::rate, true, 0.95},
        {"enqueue on a borrowed connection, 8 writers", "enqueue_business", pg, "8 writers",
         "enqueue, borrowed connection", "with INSERT", metric::rate, true, 0.95},
        {"enqueue on a borrowed connection, 32 writers", "enqueue_business", pg, "32 writers",
         "enqueue, borrowed connection", "with INSERT", metric::rate, true, 0.95},
        {"enqueue on a borrowed connection, prepared, 8 writers", "enqueue_business", pg,
         "8 writers", "enqueue, borrowed and prepared", "with INSERT", metric::rate, true, 0.95},
        {"enqueue on a borrowed connection, prepared, 32 writers", "enqueue_business", pg,
         "32 writers", "enqueue, borrowed and prepared", "with INSERT", metric::rate, true, 0.95},
        {"enqueue, 8 writers", "enqueue_single", pg, "8 writers", "enqueue", "INSERT", metric::rate,
         true, 1.4},
        {"enqueue, 32 writers", "enqueue_single", pg, "32 writers", "enqueue", "INSERT",
         metric::rate, true, 2.2},
        {"enqueue, 8 writers, 1 ms flush", "enqueue_single", pg, "flush 1000 us longer, 8 writers",
         "enqueue", "INSERT", metric::rate, true, 2.0},
        {"enqueue, 32 writers, 1 ms flush", "enqueue_single", pg,
         "flush 1000 us longer, 32 writers", "enqueue", "INSERT", metric::rate, true, 5.0},
        {"enqueue_all, 1000 rows, against unnest", "enqueue_bulk", pg, "1000 rows", "enqueue_all",
         "unnest", metric::rate, true, 0.9},
        {"enqueue_all, 1000 rows, against COPY", "enqueue_bulk", pg, "1000 rows", "enqueue_all",
         "COPY", metric::rate, true, 0.9},
        {"hot path, single commits, 8 writers", "hot_single", pg, "8 writers", "enqueue to ack",
         "INSERT", metric::rate, true, 1.0},
        {"hot path, single commits, 32 writers", "hot_single", pg, "32 writers", "enqueue to ack",
         "INSERT", metric::rate, true, 1.5},
        {"hot path, transactions of 100", "hot_bulk", pg, "100 rows", "enqueue_all to ack",
         "INSERT, claim, DELETE", metric::rate, true, 2.0},
        {"claim and ack, batch 1, 2 workers", "cold_drain", pg, "2 workers, batch 1", "verbs",
         "claim, DELETE", metric::rate, true, 1.0},
        {"cold drain by verbs, batch 100, 1 worker", "cold_drain", pg, "1 workers, batch 100",
         "verbs", "claim, DELETE", metric::rate, true, 1.6},
        {"cold drain by verbs, batch 100, 2 workers", "cold_drain", pg, "2 workers, batch 100",
         "verbs", "claim, DELETE", metric::rate, true, 1.6},
        {"cold drain, dispatcher to verbs, batch 100", "cold_drain", pg, "2 workers, batch 100",
         "dispatcher", "verbs", metric::rate, true, 0.9},
        {"cold drain by verbs, batch 1000, 1 worker", "cold_drain", pg, "1 workers, batch 1000",
         "verbs", "claim, DELETE", metric::rate, true, 2.2},
        {"cold drain by verbs, batch 1000, 2 workers", "cold_drain", pg, "2 workers, batch 1000",
         "verbs", "claim, DELETE", metric::rate, true, 2.2},
        {"cold drain, dispatcher to verbs, batch 1000", "cold_drain", pg, "2 workers, batch 1000",
         "dispatcher", "verbs", metric::rate, true, 0.9},
        {"commit to handler, own process, p50 in us", "latency", pg, "own process", "hot path", "",
         metric::p50_us, false, 50},
        {"commit to handler, own process, p99 in us", "latency", pg, "own process", "hot path", "",
         metric::p99_us, false, 500},
        {"commit to handler, other process, p50 in us", "latency", pg, "other process",
         "dispatcher", "", metric::p50_us, false, 800},
        {"commit to handler, other process, p50 to a LISTEN loop", "latency", pg, "other process",
         "dispatcher", "LISTEN loop", metric::p50_us, false, 1.15},
        {"idle cost of the other process, % of a core", "latency", pg, "other process",
         "dispatcher", "", metric::idle_percent, false, 1},
        {"claim p50 in ms at the end, snapshot held", "snapshot", pg, "snapshot held", "verbs", "",
         metric::claim_end_ms, false, 1},
        {"claim p50, end to start, snapshot held", "snapshot", pg, "snapshot held", "verbs", "",
         metric::claim_growth, false, 1.2},
        {"WAL bytes of a whole life, 8 writers", "hot_single", pg, "8 writers", "enqueue to ack",
         "", metric::log_bytes, false, 560},
        {"history on, verbs, batch 100: rate to history off", "cold_drain", pg,
         "1 workers, batch 100", "verbs, history", "verbs", metric::rate, true, 0.8},
        {"history on, verbs, batch 1000: rate to history off", "cold_drain", pg,
         "1 workers, batch 1000", "verbs, history", "verbs", metric::rate, true, 0.8},
        {"peak RSS of the relay in MiB", "relay", pg, "", "stdout sink", "", metric::rss_mib, false,
         50},
    };
}

std::vector<Bar> other_bars() {
    return {
        {"enqueue, 1 writer", "enqueue_single", "sqlite", "1 writers", "enqueue", "INSERT",
         metric::rate, true, 0.9},
        {"enqueue, 8 writers, against one connection", "enqueue_single", "sqlite", "8 writers",
         "enqueue", "INSERT", metric::rate, true, 0.9},
        {"enqueue_all, 1000 rows", "enqueue_bulk", "sqlite", "1000 rows", "enqueue_all",
         "prepared INSERT", metric::rate, true, 0.9},
        {"cold drain by verbs, batch 100", "cold_drain", "sqlite", "1 workers, batch 100", "verbs",
         "claim, DELETE", metric::rate, true, 0.9},
        {"cold drain by the dispatcher, batch 100", "cold_drain", "sqlite", "1 workers, batch 100",
         "dispatcher", "claim, DELETE", metric::rate, true, 0.9},
        {"cold drain by verbs, batch 1000", "cold_drain", "sqlite", "1 workers, batch 1000",
         "verbs", "claim, DELETE", metric::rate, true, 0.9},
        {"hot path, 16 writers, against commits of 16", "hot_single", "sqlite", "16 writers",
         "enqueue to ack", "INSERT", metric::rate, true, 0.9},
        {"hot path, transactions of 100", "hot_bulk", "sqlite", "100 rows", "enqueue_all to ack",
         "INSERT, claim, DELETE", metric::rate, true, 0.9},
        {"enqueue, 8 writers", "enqueue_single", "mariadb", "8 writers", "enqueue", "INSERT",
         metric::rate, true, 1.3},
        {"enqueue, 32 writers", "enqueue_single", "mariadb", "32 writers", "enqueue", "INSERT",
         metric::rate, true, 2.0},
        {"cold drain by verbs, batch 100, 1 worker", "cold_drain", "mariadb",
         "1 workers, batch 100", "verbs", "claim, DELETE", metric::rate, true, 1.5},
        {"cold drain by verbs, batch 100, 2 workers", "cold_drain", "mariadb",
         "2 workers, batch 100", "verbs", "claim, DELETE", metric::rate, true, 1.5},
        {"cold drain by the dispatcher, batch 100", "cold_drain", "mariadb", "1 workers, batch 100",
         "dispatcher", "claim, DELETE", metric::rate, true, 1.5},
    };
}

// "batch 1" begins neither "batch 100" nor "batch 1000".
bool begins_with(const std::string& setting, const std::string& part) {
    return part.empty() || (setting + ",").rfind(part + ",", 0) == 0;
}

const Group* find_group(const Results& results, const Bar& bar) {
    for (const Group& group : results.groups) {
        if (group.question != bar.question || group.engine != bar.engine) continue;
        if (begins_with(group.setting, bar.setting) && group.find(bar.series) != nullptr)
            return &group;
    }
    return nullptr;
}

}  // namespace

const std::vector<Bar>& bars() {
    static const std::vector<Bar> all = [] {
        std::vector<Bar> out = postgres_bars();
        for (Bar& bar : other_bars()) out.push_back(std::move(bar));
        return out;
    }();
    return all;
}

bool BarResult::met() const {
    return measured &&
           (bar->at_least ? measured->median >= bar->value : measured->median <= bar->value);
}

std::vector<BarResult> judge(const Results& results) {
    std::vector<BarResult> out;
    for (const Bar& bar : bars()) {
        BarResult result{.bar = &bar};
        if (const Group* const group = find_group(results, bar)) {
            const Series& series = *group->find(bar.series);
            const Series* const reference =
                bar.reference.empty() ? nullptr : group->find(bar.reference);
            if (bar.reference.empty()) {
                result.measured = spread(series, bar.metric);
            } else if (reference != nullptr) {
                result.measured = ratio(series, *reference, bar.metric);
                result.cpu_ratio = ratio(series, *reference, metric::cpu);
            }
        }
        out.push_back(result);
    }
    return out;
}

std::string requirement(const Bar& bar) {
    const std::string limit =
        fmt::format("{} {}", bar.at_least ? "at least" : "at most", bar.value);
    return bar.reference.empty() ? limit : fmt::format("{} of '{}'", limit, bar.reference);
}

}  // namespace bench
