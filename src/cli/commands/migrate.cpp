#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

// What deploy() would apply.
std::vector<std::string> to_apply(const SchemaReport& report) {
    std::vector<std::string> steps = report.pending;
    steps.insert(steps.end(), report.outdated.begin(), report.outdated.end());
    return steps;
}

std::string report_json(const std::string& store, const SchemaReport& report) {
    JsonArray pending;
    for (const std::string& migration : to_apply(report)) pending.add(migration);
    JsonArray drift;
    for (const std::string& line : report.drift) drift.add(line);
    return JsonObject()
        .add("store", store)
        .add("version", report.version)
        .add("up_to_date", report.up_to_date())
        .add("newer", report.newer)
        .add_json("pending", pending.text())
        .add_json("drift", drift.text())
        .text();
}

ExitCode status(const Invocation& in) {
    const Config config = load_config(in);
    Table table({"STORE", "VERSION", "PENDING", "DRIFT", "STATE"});
    JsonArray array;
    bool good = true;
    for (const daemon::StorePlan& plan : chosen_stores(config, in)) {
        const SchemaReport report = open_schema_of(config, plan)->report();
        good = good && report.up_to_date();
        table.add({plan.name, fmt::format("{}", report.version),
                   fmt::format("{}", to_apply(report).size()),
                   fmt::format("{}", report.drift.size()),
                   report.up_to_date() ? "up to date"
                   : report.newer      ? "of a newer postroom"
                                       : "needs 'postroom migrate up'"});
        array.add_json(report_json(plan.name, report));
    }
    print(in.json() ? array.text() + "\n" : table.text(layout_for(in)));
    return good ? ExitCode::ok : ExitCode::schema;
}

ExitCode plan(const Invocation& in) {
    const Config config = load_config(in);
    Table table({"STORE", "MIGRATION"});
    JsonArray array;
    for (const daemon::StorePlan& store : chosen_stores(config, in)) {
        const SchemaReport report = plan_for(config, store);
        for (const std::string& migration : to_apply(report)) table.add({store.name, migration});
        array.add_json(report_json(store.name, report));
    }
    if (in.json()) {
        print(array.text() + "\n");
    } else {
        print(table.empty() ? "nothing to do\n" : table.text(layout_for(in)));
    }
    return ExitCode::ok;
}

ExitCode up(const Invocation& in) {
    if (in.dry_run()) return plan(in);
    const Config config = load_config(in);
    JsonArray array;
    for (const daemon::StorePlan& store : chosen_stores(config, in)) {
        const std::unique_ptr<Schema> schema = open_schema_of(config, store, Absent::create);
        const SchemaReport before = schema->report();
        if (before.newer) {
            throw Failure(ExitCode::schema,
                          fmt::format("store '{}': migrated by a newer postroom; nothing was done",
                                      store.name));
        }
        schema->deploy();
        const int version = schema->report().version;
        array.add_json(JsonObject()
                           .add("store", store.name)
                           .add("applied", std::uint64_t{to_apply(before).size()})
                           .add("version", version)
                           .text());
        if (!in.json()) {
            print(fmt::format("{}: {} migrations applied, now at version {}\n",
                              printable(store.name), to_apply(before).size(), version));
        }
    }
    if (in.json()) print(array.text() + "\n");
    return ExitCode::ok;
}

ExitCode sql(const Invocation& in) {
    const Config config = load_config(in);
    print(open_schema_of(config, one_store(config, in), Absent::create)->script());
    return ExitCode::ok;
}

}  // namespace

Command migrate_command() {
    return {
        .name = "migrate",
        .summary = "Create and upgrade the tables.",
        .commands = {
            {.name = "plan",
             .summary = "List the migrations that 'up' would apply.",
             .prints = true,
             .tabulates = true,
             .run = &plan},
            {.name = "up",
             .summary = "Apply what is pending. Safe to repeat, and from many places at once.",
             .prints = true,
             .changes = true,
             .run = &up},
            {.name = "status",
             .summary = "Show the schema's version; exit code 6 when it is not up to date.",
             .details = "Drift counts what is missing or was changed by hand; 'postroom doctor' "
                        "lists it.",
             .prints = true,
             .tabulates = true,
             .run = &status},
            {.name = "sql",
             .summary = "Print the SQL of all migrations, for a DBA to read or to run.",
             .run = &sql},
            adopt_command()}};
}

}  // namespace postroom::cli
