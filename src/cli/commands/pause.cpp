#include <fmt/format.h>

#include <algorithm>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/nearest.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"
#include "postroom/store_controls.hpp"

namespace postroom::cli {

namespace {

// A name that was mistyped is most likely near one that is paused.
std::string not_paused(StoreControls& desk, const std::string& topic) {
    std::vector<std::string> names;
    for (const PausedTopic& paused : desk.paused_topics()) names.push_back(paused.topic);
    return "is not paused" + printable(did_you_mean(topic, names));
}

ExitCode change(const Invocation& in, bool pause) {
    const std::string& topic = in.arguments().front();
    const Config config = load_config(in);
    JsonArray array;
    std::string text;
    for (const daemon::StorePlan& plan : chosen_stores(config, in)) {
        const std::unique_ptr<Store> store = open_store_of(config, plan);
        StoreControls& desk = controls(*store);
        const bool was = paused_since(*store, topic).has_value();
        if (!in.dry_run() && was != pause) {
            try {
                pause ? desk.pause_topic(topic) : desk.resume_topic(topic);
            } catch (const std::invalid_argument& error) {
                throw Failure(ExitCode::input, error.what());
            }
            store->announce(Queue::outbox);
        }
        array.add_json(JsonObject()
                           .add("store", store->id())
                           .add("topic", topic)
                           .add("paused", in.dry_run() ? was : pause)
                           .add("changed", !in.dry_run() && was != pause)
                           .add("dry_run", in.dry_run())
                           .text());
        text += fmt::format("{}: '{}' {}{}\n", printable(store->id()), printable(topic),
                            was == pause   ? (pause ? "is paused already" : not_paused(desk, topic))
                            : in.dry_run() ? "would be "
                                           : "is ",
                            was == pause ? "" : (pause ? "paused" : "resumed"));
    }
    print(in.json() ? array.text() + "\n" : text);
    return ExitCode::ok;
}

Argument topic_argument() { return {.name = "TOPIC", .what = "A topic of the outbox, exactly."}; }

}  // namespace

Command pause_command() {
    return {.name = "pause",
            .summary = "Hold back the messages of a topic, in all relays, until it is resumed.",
            .details =
                "The pause lies in the database: every relay of the store sees it within two "
                "seconds (one that serves more than 20 stores: 50 ms later for each), also one "
                "that is started later. What is on its way is finished. Messages of the topic are "
                "still taken in; holding them back costs no attempt. Without --store it is for "
                "every store of the configuration. 'postroom status' lists what is paused.",
            .arguments = {topic_argument()},
            .examples = {"postroom pause order.placed"},
            .prints = true,
            .changes = true,
            .run = [](const Invocation& in) { return change(in, true); }};
}

Command resume_command() {
    return {.name = "resume",
            .summary = "Deliver the messages of a paused topic again.",
            .details =
                "Seen by the relays as a pause is. Messages that a relay looked at in the meantime "
                "are looked at again within relay.hold_delay, 15 seconds.",
            .arguments = {topic_argument()},
            .examples = {"postroom resume order.placed"},
            .prints = true,
            .changes = true,
            .run = [](const Invocation& in) { return change(in, false); }};
}

}  // namespace postroom::cli
