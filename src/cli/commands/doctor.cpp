#include <fmt/format.h>

#include <filesystem>

#include "admin/health.hpp"
#include "admin/json_view.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

using Health = Finding::Health;

constexpr std::uintmax_t mebibyte = std::uintmax_t{1024} * 1024;
constexpr std::uintmax_t space_warning = 1024 * mebibyte;
constexpr std::uintmax_t space_bad = 64 * mebibyte;

Color health_color(std::string_view word) {
    if (word == admin::health_word(Health::bad)) return Color::red;
    return word == admin::health_word(Health::good) ? Color::green : Color::yellow;
}

// What was found, about one store or about the program.
class Report {
public:
    Report() { table_.wrap_last(); }

    void add(const std::string& about, const Finding& finding) {
        table_.add(
            {about, finding.check, std::string(admin::health_word(finding.health)), finding.what});
        array_.add_json(admin::json_of(about, finding));
        if (finding.health == Health::bad) bad_ = true;
    }
    void add(const std::string& about, const std::vector<Finding>& findings) {
        for (const Finding& finding : findings) add(about, finding);
    }
    bool bad() const { return bad_; }
    std::string text(const Invocation& in) const {
        return in.json() ? array_.text() + "\n" : table_.text(layout_for(in));
    }

private:
    Table table_{{"ABOUT", "CHECK", {"HEALTH", Shown::always, &health_color}, "WHAT"}};
    JsonArray array_;
    bool bad_ = false;
};

// Only of a database in a file: a server does not tell how much room it has.
void check_space(Report& out, const daemon::StorePlan& plan) {
    const std::string file = file_of(plan.url);
    if (file.empty()) return;
    std::error_code error;
    const std::filesystem::space_info space =
        std::filesystem::space(std::filesystem::absolute(file).parent_path(), error);
    if (error) return;  // opening the file says what is wrong
    const Health health = space.available < space_bad       ? Health::bad
                          : space.available < space_warning ? Health::warning
                                                            : Health::good;
    out.add(plan.name, Finding{.check = "disk",
                               .health = health,
                               .what = fmt::format("{} MiB are free", space.available / mebibyte)});
}

void check_store(Report& out, const Config& config, const daemon::StorePlan& plan) {
    try {
        const SchemaReport schema = open_schema_of(config, plan)->report();
        out.add(plan.name, admin::check_schema(schema));
        if (schema.version == 0) return;
        const std::unique_ptr<Store> store = open_store_of(config, plan);
        out.add(store->id(), admin::check_store(*store, SystemClock()));
    } catch (const std::exception& error) {
        out.add(plan.name,
                Finding{.check = "store", .health = Health::bad, .what = one_line(error.what())});
    }
}

// What is odd about its settings is told before it is tried with them.
void check_sink(Report& out, const SinkConfig& config) {
    const std::string about = "sinks." + config.name;
    Finding finding{.check = "destination"};
    try {
        const std::unique_ptr<Sink> sink = make_sink(config);
        for (const std::string& warning : sink->warnings())
            out.add(about,
                    Finding{.check = "settings", .health = Health::warning, .what = warning});
        finding.what = sink->destination() + (sink->probe() ? " can be reached" : "");
    } catch (const std::exception& error) {
        finding.health = Health::bad;
        finding.what = one_line(error.what());
    }
    out.add(about, finding);
}

ExitCode run_doctor(const Invocation& in) {
    const Config config = load_config(in);
    Report out;
    out.add("config", Finding{.check = "file", .what = config.file.empty() ? "none" : config.file});
    for (const daemon::StorePlan& plan : chosen_stores(config, in)) {
        check_space(out, plan);
        check_store(out, config, plan);
    }
    for (const SinkConfig& sink : config.plan.sinks) check_sink(out, sink);
    print(out.text(in));
    return out.bad() ? ExitCode::failed : ExitCode::ok;
}

}  // namespace

Command doctor_command() {
    return {
        .name = "doctor",
        .summary =
            "Look for what could be wrong: databases and destinations that cannot be reached, "
            "schema, clock, queues, the database's settings.",
        .details =
            "Of the database itself: room on the disk of a file, whether a commit survives a "
            "power cut, whether a claim finds its messages by an index, and who holds an old "
            "snapshot that keeps dead rows from being removed. Of a sink: whether it can "
            "connect, with TLS and sign in, from this machine, and what is odd about its settings; "
            "no message is sent. Exit code 1 when something is bad; warnings do not count.",
        .prints = true,
        .tabulates = true,
        .run = &run_doctor};
}

}  // namespace postroom::cli
