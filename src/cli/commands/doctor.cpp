#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

constexpr Duration clock_offset_max = std::chrono::seconds{2};
constexpr Duration lag_max = std::chrono::minutes{5};

using Health = Finding::Health;

std::string_view to_string(Health health) {
    return health == Health::good ? "ok" : health == Health::warning ? "warning" : "bad";
}

// What was found, about one store or about the program.
class Findings {
public:
    void add(const std::string& about, const std::string& check, Health health,
             const std::string& what) {
        table_.add({about, check, std::string(to_string(health)), what});
        array_.add_json(JsonObject()
                            .add("about", about)
                            .add("check", check)
                            .add("health", to_string(health))
                            .add("what", what)
                            .text());
        if (health == Health::bad) bad_ = true;
    }
    bool bad() const { return bad_; }
    std::string text(bool json) const { return json ? array_.text() + "\n" : table_.text(); }

private:
    Table table_{{"ABOUT", "CHECK", "HEALTH", "WHAT"}};
    JsonArray array_;
    bool bad_ = false;
};

bool check_schema(Findings& out, const std::string& name, const SchemaReport& report) {
    if (report.newer) {
        out.add(name, "schema", Health::warning, "migrated by a newer postroom: upgrade this one");
    } else if (!report.pending.empty()) {
        out.add(
            name, "schema", Health::bad,
            fmt::format("{} migrations pending: run 'postroom migrate up'", report.pending.size()));
    } else {
        out.add(name, "schema", Health::good, fmt::format("version {}", report.version));
    }
    for (const std::string& line : report.drift)
        out.add(name, "schema drift", Health::warning, line);
    return report.version > 0;
}

// Half of the way there and back is taken for the way back.
void check_clock(Findings& out, Store& store) {
    const SystemClock here;
    const Instant before = here.now();
    const Instant there = store.now();
    const Instant after = here.now();
    const Duration offset = there - (before + (after - before) / 2);
    const Duration size = offset < Duration::zero() ? -offset : offset;
    out.add(store.id(), "clock", size > clock_offset_max ? Health::warning : Health::good,
            fmt::format("the database is {} {} this machine", format_duration(size),
                        offset < Duration::zero() ? "behind" : "ahead of"));
    out.add(store.id(), "round trip", Health::good, format_duration(after - before));
}

void check_queue(Findings& out, Store& store, Queue queue) {
    const Counts counts = store.counts(queue);
    const std::string check = std::string(postroom::to_string(queue));
    const Duration lag = counts.oldest ? store.now() - *counts.oldest : Duration::zero();
    const Health health = counts.dead > 0 || lag > lag_max ? Health::warning : Health::good;
    out.add(store.id(), check, health,
            fmt::format("{} ready, {} in progress, {} dead, the oldest waits for {}", counts.ready,
                        counts.in_progress, counts.dead, format_duration(lag)));
    const std::size_t blocking = store.find(queue, {.blocking = true, .limit = 100}).size();
    if (blocking > 0) {
        out.add(store.id(), check + " keys", Health::warning,
                fmt::format("{} messages hold back others of their ordering key: 'postroom list "
                            "--blocking'",
                            blocking == 100 ? "100 or more" : fmt::format("{}", blocking)));
    }
}

void check_database(Findings& out, Store& store) {
    StoreControls* const desk = controls_of(store);
    if (desk == nullptr) return;
    for (const Finding& finding : desk->examine())
        out.add(store.id(), finding.check, finding.health, finding.what);
    for (const PausedTopic& paused : desk->paused_topics())
        out.add(store.id(), "paused", Health::warning,
                fmt::format("the topic '{}' is paused since {}", printable(paused.topic),
                            format_time(paused.since)));
}

void check_store(Findings& out, const Config& config, const daemon::StorePlan& plan) {
    try {
        if (!check_schema(out, plan.name, open_schema_of(config, plan)->report())) return;
        const std::unique_ptr<Store> store = open_store_of(config, plan);
        check_clock(out, *store);
        check_queue(out, *store, Queue::outbox);
        check_queue(out, *store, Queue::inbox);
        check_database(out, *store);
    } catch (const std::exception& error) {
        out.add(plan.name, "store", Health::bad, one_line(error.what()));
    }
}

ExitCode run_doctor(const Invocation& in) {
    const Config config = load_config(in);
    Findings out;
    out.add("config", "file", Health::good, config.file.empty() ? "none" : config.file);
    for (const daemon::StorePlan& plan : chosen_stores(config, in)) check_store(out, config, plan);
    print(out.text(in.json()));
    return out.bad() ? ExitCode::failed : ExitCode::ok;
}

}  // namespace

Command doctor_command() {
    return {.name = "doctor",
            .summary =
                "Look for what could be wrong: reachability, schema, clock, queues, the database's "
                "settings.",
            .details =
                "Of the database itself: whether a commit survives a power cut, whether a claim "
                "finds its messages by an index, and who holds an old snapshot that keeps dead "
                "rows from being removed. Exit code 1 when something is bad; warnings do not "
                "count.",
            .prints = true,
            .run = &run_doctor};
}

}  // namespace postroom::cli
