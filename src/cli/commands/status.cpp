#include <fmt/format.h>
#include <unistd.h>

#include "admin/json_view.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/status_view.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/output/wrap.hpp"
#include "cli/session.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

void add_status(Table& table, const admin::QueueStatus& status) {
    const Counts& counts = status.counts;
    table.add({status.store, std::string(to_string(status.queue)), count_text(counts, counts.ready),
               count_text(counts, counts.retrying), count_text(counts, counts.in_progress),
               count_text(counts, counts.dead), oldest_text(status),
               fmt::format("{}", status.workers.size())});
}

std::vector<Queue> queues_of(const Invocation& in) {
    if (in.has("queue")) return {queue_of(in)};
    return {Queue::outbox, Queue::inbox};
}

// What was found, of one store after the other.
struct StatusReport {
    Table table{
        {"STORE", "QUEUE", "READY", "RETRYING", "IN_PROGRESS", "DEAD", "OLDEST", "WORKERS"}};
    JsonArray array{};
    std::string notes{};
    ExitCode code = ExitCode::ok;

    void add(const admin::QueueStatus& status) {
        notes += hold_line(status) + paused_lines(status) + down_lines(status);
        add_status(table, status);
        array.add_json(admin::json_of(status));
    }
    // The first code stands.
    void add_failure(const std::string& store, ExitCode why, const std::string& what) {
        if (code == ExitCode::ok) code = why;
        const char* const word = why == ExitCode::unavailable ? "unreachable" : "failed";
        table.add({store, word, "-", "-", "-", "-", "-", "-"});
        notes += fmt::format("{}: {}\n", word, printable(one_line(what)));
        array.add_json(JsonObject().add("store", store).add("error", what).text());
    }
};

void add_store(StatusReport& report, const Config& config, const daemon::StorePlan& plan,
               const Invocation& in) {
    const std::unique_ptr<Store> store = open_store_of(config, plan);
    for (const Queue queue : queues_of(in)) report.add(admin::queue_status(*store, queue));
}

// One of several that fails does not hide the others.
void try_to_add(StatusReport& report, const Config& config, const daemon::StorePlan& plan,
                const Invocation& in) {
    try {
        add_store(report, config, plan, in);
    } catch (const Failure& failure) {
        report.add_failure(plan.name, failure.code(), failure.what());
    } catch (const Error& error) {
        report.add_failure(plan.name, ExitCode::unavailable, error.what());
    }
}

ExitCode run_status(const Invocation& in) {
    const Config config = load_config(in);
    const std::vector<daemon::StorePlan> stores = chosen_stores(config, in);
    StatusReport report;
    if (stores.size() == 1) {
        add_store(report, config, stores.front(), in);
    } else {
        for (const daemon::StorePlan& plan : stores) try_to_add(report, config, plan, in);
    }
    print(in.json() ? report.array.text() + "\n"
                    : report.table.text(layout_for(in)) + fitted_to(STDOUT_FILENO, report.notes));
    return report.code;
}

}  // namespace

Command status_command() {
    Option queue = queue_option();
    queue.what = "Only the outbox, or only the inbox.";
    return {
        .name = "status",
        .summary = "Count the messages in the queues of each store.",
        .details =
            "READY is all that is to be delivered, RETRYING those of it that failed "
            "before, OLDEST the age of the oldest message that is neither done nor dead, WORKERS "
            "how many dispatchers and relays are at work. A number behind ~ is an estimate, where "
            "counting would take long. A delivery that is held, topics that are paused and "
            "destinations that are down are named below. Of several stores one that cannot be "
            "reached is listed with its error; the exit code is 3 then.",
        .options = {queue},
        .prints = true,
        .tabulates = true,
        .reaches_relays = true,
        .run = &run_status};
}

}  // namespace postroom::cli
