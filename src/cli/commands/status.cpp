#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

std::string paused_json(const std::vector<PausedTopic>& paused) {
    JsonArray topics;
    for (const PausedTopic& topic : paused)
        topics.add_json(
            JsonObject().add("topic", topic.topic).add("paused_at", topic.since).text());
    return topics.text();
}

std::string paused_lines(const Store& store, const std::vector<PausedTopic>& paused, Instant now) {
    std::string lines;
    for (const PausedTopic& topic : paused)
        lines += fmt::format("{}: topic '{}' is paused since {}\n", printable(store.id()),
                             printable(topic.topic), format_duration(now - topic.since));
    return lines;
}

std::string counts_json(const Store& store, Queue queue, const Counts& counts,
                        const std::vector<PausedTopic>& paused) {
    return JsonObject()
        .add("store", store.id())
        .add("queue", to_string(queue))
        .add("ready", counts.ready)
        .add("in_progress", counts.in_progress)
        .add("retrying", counts.retrying)
        .add("dead", counts.dead)
        .add("seen", counts.seen)
        .add("oldest", counts.oldest)
        .add_json("paused", paused_json(paused))
        .text();
}

ExitCode run_status(const Invocation& in) {
    const Config config = load_config(in);
    Table table({"STORE", "QUEUE", "READY", "RETRYING", "IN_PROGRESS", "DEAD", "OLDEST"});
    JsonArray array;
    std::string notes;
    for (const daemon::StorePlan& plan : chosen_stores(config, in)) {
        const std::unique_ptr<Store> store = open_store_of(config, plan);
        const Instant now = store->now();
        for (const Queue queue : {Queue::outbox, Queue::inbox}) {
            if (in.has("queue") && queue != queue_of(in)) continue;
            const Counts counts = store->counts(queue);
            const std::vector<PausedTopic> paused = queue == Queue::outbox
                                                        ? controls(*store).paused_topics()
                                                        : std::vector<PausedTopic>{};
            notes += paused_lines(*store, paused, now);
            table.add({store->id(), std::string(to_string(queue)), fmt::format("{}", counts.ready),
                       fmt::format("{}", counts.retrying), fmt::format("{}", counts.in_progress),
                       fmt::format("{}", counts.dead),
                       counts.oldest ? format_duration(now - *counts.oldest) : "-"});
            array.add_json(counts_json(*store, queue, counts, paused));
        }
    }
    print(in.json() ? array.text() + "\n" : table.text() + notes);
    return ExitCode::ok;
}

}  // namespace

Command status_command() {
    Option queue = queue_option();
    queue.what = "Only the outbox, or only the inbox.";
    return {
        .name = "status",
        .summary = "Count what lies in the queues of each store.",
        .details =
            "READY is all that is to be delivered, RETRYING those of it that failed "
            "before, OLDEST the age of the oldest message that is neither done nor dead. Topics "
            "that are paused are named below.",
        .options = {queue},
        .prints = true,
        .run = &run_status};
}

}  // namespace postroom::cli
