#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

std::string counts_json(const Store& store, Queue queue, const Counts& counts) {
    return JsonObject()
        .add("store", store.id())
        .add("queue", to_string(queue))
        .add("ready", counts.ready)
        .add("in_progress", counts.in_progress)
        .add("retrying", counts.retrying)
        .add("dead", counts.dead)
        .add("seen", counts.seen)
        .add("oldest", counts.oldest)
        .text();
}

ExitCode run(const Invocation& in) {
    const Config config = load_config(in);
    Table table({"STORE", "QUEUE", "READY", "RETRYING", "IN_PROGRESS", "DEAD", "OLDEST"});
    JsonArray array;
    for (const daemon::StorePlan& plan : chosen_stores(config, in)) {
        const std::unique_ptr<Store> store = open_store_of(config, plan);
        const Instant now = store->now();
        for (const Queue queue : {Queue::outbox, Queue::inbox}) {
            if (in.has("queue") && queue != queue_of(in)) continue;
            const Counts counts = store->counts(queue);
            table.add({store->id(), std::string(to_string(queue)), fmt::format("{}", counts.ready),
                       fmt::format("{}", counts.retrying), fmt::format("{}", counts.in_progress),
                       fmt::format("{}", counts.dead),
                       counts.oldest ? format_duration(now - *counts.oldest) : "-"});
            array.add_json(counts_json(*store, queue, counts));
        }
    }
    print(in.json() ? array.text() + "\n" : table.text());
    return ExitCode::ok;
}

}  // namespace

Command status_command() {
    Option queue = queue_option();
    queue.what = "Only the outbox, or only the inbox.";
    return {.name = "status",
            .summary = "Count what lies in the queues of each store.",
            .details =
                "READY is all that is to be delivered, RETRYING those of it that failed "
                "before, OLDEST the age of the oldest message that is neither done nor dead.",
            .options = {queue},
            .prints = true,
            .run = &run};
}

}  // namespace postroom::cli
