#include <fmt/format.h>

#include <array>
#include <functional>

#include "cli/bench/measures.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/number_option.hpp"
#include "cli/output/json.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/own_tables.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

constexpr std::int64_t bench_seconds_max = 600;
constexpr std::size_t measure_count = 5;

Load load_of(const Invocation& in, const Limits& limits, const Interrupt& interrupt) {
    const std::int64_t seconds = number_of(in, "seconds", 10, 1, bench_seconds_max);
    const auto payload_max = static_cast<std::int64_t>(limits.max_payload_bytes);
    return {.each = std::chrono::milliseconds{seconds * 1000 / std::int64_t{measure_count}},
            .payload_bytes =
                static_cast<std::size_t>(number_of(in, "payload-bytes", 200, 0, payload_max)),
            .interrupt = &interrupt};
}

// The latencies first, while nothing else lies in the queue.
std::vector<Measure> measure_all(const OwnTables& tables, const Load& load) {
    const std::unique_ptr<Store> store = tables.open();
    const std::unique_ptr<Store> other = tables.open();
    const std::array<std::function<Measure()>, measure_count> all{
        [&] { return measure_latency(*store, *store, load); },
        [&] { return measure_latency(*store, *other, load); },
        [&] { return measure_enqueue(*store, load); },
        [&] { return measure_enqueue_all(*store, load); },
        [&] { return measure_drain(*store, load); }};
    Progress progress("measures", measure_count);
    std::vector<Measure> measures;
    for (const std::function<Measure()>& measure : all) {
        measures.push_back(measure());
        progress.at(measures.size());
    }
    return measures;
}

std::uint64_t per_second(const Measure& measure) {
    if (measure.seconds <= 0) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(measure.messages) / measure.seconds);
}

std::string json_of(const std::string& store, const Load& load,
                    const std::vector<Measure>& measures) {
    JsonArray array;
    for (const Measure& measure : measures) {
        JsonObject object;
        object.add("name", measure.name).add("messages", measure.messages);
        if (measure.seconds > 0) object.add("per_second", per_second(measure));
        object.add("p50_us", std::int64_t{percentile(measure, 0.5).count()})
            .add("p99_us", std::int64_t{percentile(measure, 0.99).count()});
        array.add_json(object.text());
    }
    return JsonObject()
               .add("store", store)
               .add("payload_bytes", std::uint64_t{load.payload_bytes})
               .add_json("measures", array.text())
               .text() +
           "\n";
}

std::string text_of(const std::vector<Measure>& measures, const Layout& layout) {
    Table table({"MEASURE", "MESSAGES", "PER SECOND", "P50", "P99", "WHAT"});
    const auto milliseconds = [](std::chrono::microseconds time) {
        return fmt::format("{:.3f} ms", static_cast<double>(time.count()) / 1000);
    };
    for (const Measure& measure : measures) {
        table.add({measure.name, fmt::format("{}", measure.messages),
                   measure.seconds > 0 ? fmt::format("{}", per_second(measure)) : "-",
                   milliseconds(percentile(measure, 0.5)), milliseconds(percentile(measure, 0.99)),
                   measure.what});
    }
    return table.text(layout);
}

ExitCode run_bench(const Invocation& in) {
    const Config config = load_config(in);
    daemon::StorePlan plan = one_store(config, in);
    const Interrupt interrupt;
    const Load load = load_of(in, plan.options.limits, interrupt);
    plan.options = OwnTables::named(plan.options, "bench");
    const auto open = [&] { return open_schema_of(config, plan); };
    if (in.dry_run()) {
        (void)open()->report();
        print(own_tables_plan(in, plan));
        return ExitCode::ok;
    }
    if (in.has("clean")) {
        OwnTables::clean(plan.url, plan.options, open);
        print(in.json() ? "{\"clean\":true}\n" : "no tables of the bench are there\n");
        return ExitCode::ok;
    }
    const std::vector<Measure> measures = [&] {
        const OwnTables tables("bench", plan.url, plan.options, open);
        return measure_all(tables, load);
    }();
    print(in.json() ? json_of(plan.name, load, measures) : text_of(measures, layout_for(in)));
    return ExitCode::ok;
}

}  // namespace

Command bench_command() {
    return {.name = "bench",
            .summary = "Measure what a store's database can do, in tables of its own.",
            .details =
                "Enqueues, drains and times messages with the settings of the store, from this "
                "machine and with one connection at a time. The tables are named "
                "postroom_bench..., created for it and removed at the end, also when it is "
                "interrupted; if there are such tables already, nothing is done. The right to "
                "create them is needed. The database is busy meanwhile: think twice before you do "
                "this to one in use. An SQLite file keeps the size it has grown to.",
            .options = {{.name = "seconds",
                         .value = "N",
                         .what = "For all measures together; 10. Creating and removing the tables "
                                 "comes on top."},
                        {.name = "payload-bytes", .value = "N", .what = "Of each message; 200."},
                        {.name = "clean",
                         .what = "Only remove what a bench that was killed has left behind."}},
            .examples = {"postroom bench --url postgresql://app@db/shop"},
            .prints = true,
            .tabulates = true,
            .changes = true,
            .run = &run_bench};
}

}  // namespace postroom::cli
