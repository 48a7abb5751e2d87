#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "admin/json_view.hpp"
#include "admin/workers.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/status_view.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/output/wrap.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

void add_worker(Table& table, const std::string& store, const WorkerReport& worker, Instant now) {
    table.add({store, std::string(to_string(worker.queue)),
               fmt::format("{}:{}", worker.host, worker.pid), worker.version,
               format_duration(now - worker.started), format_duration(now - worker.last_seen),
               fmt::format("{}", worker.in_hand), rate_text(worker.delivered_per_second),
               rate_text(worker.failed_per_second),
               fmt::format("{}", fmt::join(worker.topics, " "))});
}

std::string waiting_lines(const std::string& store, const WorkerReport& worker, Instant now) {
    std::string lines;
    for (const CircuitReport& circuit : worker.circuits)
        lines += fmt::format("{}: {}:{} waits for {}\n", printable(store), printable(worker.host),
                             worker.pid, printable(admin::sentence_of(circuit, now)));
    return lines;
}

ExitCode run_workers(const Invocation& in) {
    const Config config = load_config(in);
    Table table({"STORE",
                 "QUEUE",
                 "PROCESS",
                 {"VERSION", Shown::wide},
                 "UP",
                 {"SEEN", Shown::wide},
                 "IN_HAND",
                 "DELIVERED",
                 "FAILED",
                 "TOPICS"});
    table.wrap_last();
    JsonArray array;
    std::string notes;
    for (const daemon::StorePlan& plan : chosen_stores(config, in)) {
        const std::unique_ptr<Store> store = open_store_of(config, plan);
        const Instant now = store->now();
        for (const Queue queue : {Queue::outbox, Queue::inbox}) {
            for (const WorkerReport& worker : admin::workers_of(*store, queue)) {
                add_worker(table, store->id(), worker, now);
                notes += waiting_lines(store->id(), worker, now);
                array.add_json(admin::json_of(worker));
            }
        }
    }
    print(in.json() ? array.text() + "\n"
                    : table.text(layout_for(in)) + fitted_to(STDOUT_FILENO, notes));
    return ExitCode::ok;
}

}  // namespace

Command workers_command() {
    return {.name = "workers",
            .summary = "List the dispatchers and relays that are at work on each store.",
            .details =
                "Each writes down every five seconds, or once a minute or less when it has nothing "
                "to do, that it is there, what it holds, and which destinations it waits for; one "
                "that stays silent is not listed. Destinations that are down are named below.",
            .prints = true,
            .tabulates = true,
            .run = &run_workers};
}

}  // namespace postroom::cli
