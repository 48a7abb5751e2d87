#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/number_option.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "cli/own_tables.hpp"
#include "cli/session.hpp"
#include "cli/temporary_folder.hpp"
#include "queue/sql_access.hpp"
#include "torture/torture.hpp"

namespace postroom::cli {

namespace {

constexpr const char* own_name = "torture";
constexpr const char* orders = "orders";
constexpr const char* effects = "effects";
constexpr std::int64_t torture_seconds_usual = 30;
constexpr std::int64_t torture_seconds_max = 86'400;
constexpr Duration lease_usual = std::chrono::milliseconds{500};
constexpr Duration lease_min = std::chrono::milliseconds{50};
constexpr Duration lease_max = std::chrono::minutes{1};
constexpr std::size_t lines_max = 20;  // of broken promises that are shown

// What the page says about a run besides its acts.
struct Setting {
    std::string store;
    std::string server;
    Instant begun;
    std::uint64_t seed;
    std::int64_t seconds;
    Duration lease;
    std::vector<torture::Act> acts{};
};

Duration lease_of(const Invocation& in) {
    if (!in.has("lease")) return lease_usual;
    const std::optional<Duration> lease = parse_duration(in.value("lease"));
    if (!lease || *lease < lease_min || *lease > lease_max)
        throw Failure(ExitCode::usage,
                      fmt::format("--lease must be a duration from {} to {}",
                                  format_duration(lease_min), format_duration(lease_max)));
    return *lease;
}

std::string server_of(Store& store) {
    SqlAccess* const access = sql_access_of(store);
    if (access == nullptr || access->words().version().sql.empty()) return "unknown";
    return access->read(access->words().version()).at(0).at(0).value_or("unknown");
}

std::uint64_t broken_in(const Setting& setting) {
    std::uint64_t broken = 0;
    for (const torture::Act& act : setting.acts) broken += act.broken.size();
    return broken;
}

std::string as_words(std::string name) {
    std::ranges::replace(name, '_', ' ');
    return name;
}

std::string act_section(const torture::Act& act) {
    std::string text =
        fmt::format("\n## {}\n\n{}.\n\n| figure | |\n|---|---|\n", act.name, act.what);
    for (const torture::Figure& figure : act.figures)
        text += fmt::format("| {} | {} |\n", as_words(figure.name), figure.value);
    text += fmt::format("| promises broken | {} |\n", act.broken.size());
    for (std::size_t i = 0; i < std::min(act.broken.size(), lines_max); ++i)
        text += fmt::format("{}- {}\n", i == 0 ? "\n" : "", printable(act.broken[i]));
    if (act.broken.size() > lines_max)
        text += fmt::format("- and {} more\n", act.broken.size() - lines_max);
    return text;
}

std::string page_of(const Setting& setting) {
    std::string text = fmt::format(
        "# Torture: {}\n\n"
        "| | |\n|---|---|\n"
        "| store | {} |\n| server | {} |\n| postroom | {} |\n| begun | {} |\n"
        "| command | `postroom torture --seconds {} --lease {} --seed {}` |\n",
        broken_in(setting) == 0 ? "every promise was kept" : "PROMISES WERE BROKEN",
        printable(setting.store), printable(setting.server), POSTROOM_VERSION,
        format_time(setting.begun), setting.seconds, format_duration(setting.lease), setting.seed);
    for (const torture::Act& act : setting.acts) text += act_section(act);
    return text;
}

std::string json_of(const Setting& setting) {
    JsonArray acts;
    for (const torture::Act& act : setting.acts) {
        JsonObject figures;
        for (const torture::Figure& figure : act.figures) figures.add(figure.name, figure.value);
        JsonArray broken;
        for (const std::string& line : act.broken) broken.add(line);
        acts.add_json(JsonObject()
                          .add("name", act.name)
                          .add_json("figures", figures.text())
                          .add_json("broken", broken.text())
                          .text());
    }
    return JsonObject()
               .add("store", setting.store)
               .add("server", setting.server)
               .add("version", POSTROOM_VERSION)
               .add("begun", setting.begun)
               .add("seed", setting.seed)
               .add("seconds", setting.seconds)
               .add("kept", broken_in(setting) == 0)
               .add_json("acts", acts.text())
               .text() +
           "\n";
}

void write_page(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    if (!file) throw Failure(ExitCode::failed, fmt::format("cannot write '{}'", printable(path)));
}

// The workers are forks of this process: no store is open while they are made.
Setting run_acts(const Invocation& in, const Config& config, const daemon::StorePlan& plan) {
    Setting setting{
        .store = plan.name,
        .server = {},
        .begun = SystemClock().now(),
        .seed = static_cast<std::uint64_t>(
            number_of(in, "seed", std::random_device{}(), 0, UINT32_MAX)),
        .seconds = number_of(in, "seconds", torture_seconds_usual, 1, torture_seconds_max),
        .lease = lease_of(in)};
    const Interrupt interrupt;
    TemporaryFolder folder(own_name);
    OwnTables tables(own_name, plan.url, plan.options,
                     [&] { return open_schema_of(config, plan); });
    setting.server = server_of(*tables.open());
    setting.acts = torture::torture(
        {.open = [&] { return tables.open(); },
         .orders_table = tables.add(orders, "id varchar(64) PRIMARY KEY"),
         .effects_table = tables.add(effects, "source varchar(64), message_id varchar(64)"),
         .folder = folder.path(),
         .seed = setting.seed,
         .duration = std::chrono::seconds{setting.seconds},
         .lease = setting.lease,
         .check = [&] { interrupt.check(); }});
    if (broken_in(setting) > 0) {
        folder.keep();
        complain(fmt::format("the journals of the workers are in {}", folder.path()));
    }
    return setting;
}

ExitCode run_torture(const Invocation& given) {
    Invocation in = given;
    if (!in.argument(0).empty()) in.add_option("url", in.argument(0));
    const Config config = load_config(in);
    daemon::StorePlan plan = one_store(config, in);
    plan.options = OwnTables::named(plan.options, own_name);
    if (in.dry_run()) {
        (void)open_schema_of(config, plan)->report();
        print(own_tables_plan(in, plan));
        return ExitCode::ok;
    }
    if (in.has("clean")) {
        OwnTables::clean(plan.url, plan.options, [&] { return open_schema_of(config, plan); },
                         {orders, effects});
        print(in.json() ? "{\"clean\":true}\n" : "no tables of the torture are there\n");
        return ExitCode::ok;
    }
    const Setting setting = run_acts(in, config, plan);
    print(in.json() ? json_of(setting) : page_of(setting));
    if (in.has("page")) write_page(in.value("page"), page_of(setting));
    return broken_in(setting) == 0 ? ExitCode::ok : ExitCode::failed;
}

}  // namespace

Command torture_command() {
    return {
        .name = "torture",
        .summary = "Kill workers on a store's database and check that every promise was kept.",
        .details =
            "Processes enqueue, claim, settle, receive and dispatch on the database, and are "
            "killed with SIGKILL all the time; transactions commit late or not at all, leases "
            "run out, outcomes come too late, messages arrive many times, a destination is "
            "down, poison messages take their worker with them. What each process was told "
            "stands in a ledger outside of the database, and in the end the two are compared: "
            "nothing that was confirmed is lost, nothing that was rolled back is there, no "
            "message had two holders, each took effect once, and what is dead has its reason. "
            "The verdict is a page with figures, seed and versions; the exit code is 1 when a "
            "promise was broken. The tables are named postroom_torture..., created for it and "
            "removed at the end, also when it is interrupted; if there are such tables "
            "already, nothing is done. The right to create them is needed. The database is "
            "busy meanwhile: use one that is like yours, not the one in use.",
        .arguments = {{.name = "URL",
                       .what = "The database, as --url gives it.",
                       .required = false}},
        .options = {{.name = "seconds",
                     .value = "N",
                     .what = "How long workers are killed; 30. Recovery comes on top."},
                    {.name = "lease",
                     .value = "DURATION",
                     .what = "Of the workers; 500ms. Shorter ones run out more often; far longer "
                             "than a round trip they must be."},
                    {.name = "seed",
                     .value = "N",
                     .what = "What the workers do follows from it; random when not given. When "
                             "they are killed does not."},
                    {.name = "page",
                     .value = "FILE",
                     .what = "Write the verdict to this file too, as Markdown."},
                    {.name = "clean",
                     .what = "Only remove what a torture that was killed has left behind."}},
        .examples = {"postroom torture postgresql://app@db/shop_test",
                     "postroom torture --seconds 600 --page verdict.md"},
        .prints = true,
        .changes = true,
        .run = &run_torture};
}

}  // namespace postroom::cli
