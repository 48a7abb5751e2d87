#include <fmt/format.h>

#include <stdexcept>

#include "admin/audit.hpp"
#include "admin/json_view.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

std::string own_outcome_of(const admin::PauseChange& change) {
    if (change.was_paused != change.wanted) {
        return fmt::format("{}{}", change.dry_run ? "would be " : "is ",
                           change.wanted ? "paused" : "resumed");
    }
    if (change.wanted) return "is paused already";
    // A name that was mistyped is most likely near one that is paused.
    return change.nearest
               ? fmt::format("is not paused; did you mean '{}'?", printable(*change.nearest))
               : "is not paused";
}

std::string outcome_of(const admin::PauseChange& change) {
    return own_outcome_of(change) +
           (change.held_by ? fmt::format("; '{}' holds it back", printable(*change.held_by)) : "");
}

admin::PauseChange change_in(Store& store, const Invocation& in, bool pause) {
    try {
        const admin::PauseChange done =
            admin::set_paused(store, in.arguments().front(), pause, in.dry_run());
        admin::record(store, operator_name(), done);
        return done;
    } catch (const std::invalid_argument& error) {
        throw Failure(ExitCode::input, error.what());
    }
}

ExitCode change(const Invocation& in, bool pause) {
    const Config config = load_config(in);
    JsonArray array;
    std::string text;
    for (const daemon::StorePlan& plan : chosen_stores(config, in)) {
        const std::unique_ptr<Store> store = open_store_of(config, plan);
        const admin::PauseChange done = change_in(*store, in, pause);
        array.add_json(admin::json_of(done));
        text += fmt::format("{}: '{}' {}\n", printable(done.store), printable(done.topic),
                            outcome_of(done));
    }
    print(in.json() ? array.text() + "\n" : text);
    return ExitCode::ok;
}

Argument topic_argument() {
    return {.name = "TOPIC",
            .what = "A topic of the outbox, or a pattern in which * stands for any characters."};
}

}  // namespace

Command pause_command() {
    return {
        .name = "pause",
        .summary = "Hold back the messages of topics, in all relays, until they are resumed.",
        .details =
            "The pause lies in the database: every relay of the store sees it within two "
            "seconds (plus 50 ms for each store beyond 20 that it serves), also one "
            "that is started later. What is on its way is finished. Messages of the topic are "
            "still taken in; holding them back costs no attempt. A pattern holds for topics that "
            "come up later too, and is resumed by the same text. Without --store it is for "
            "every store of the configuration. 'postroom status' lists what is paused.",
        .arguments = {topic_argument()},
        .examples = {"postroom pause order.placed", "postroom pause 'order.*'"},
        .prints = true,
        .changes = true,
        .reaches_relays = true,
        .run = [](const Invocation& in) { return change(in, true); }};
}

Command resume_command() {
    return {.name = "resume",
            .summary = "Deliver the messages of a paused topic again.",
            .details =
                "Seen by the relays as a pause is. Messages that a relay looked at in the meantime "
                "are looked at again within relay.hold_delay, 15 seconds.",
            .arguments = {topic_argument()},
            .examples = {"postroom resume order.placed", "postroom resume 'order.*'"},
            .prints = true,
            .changes = true,
            .reaches_relays = true,
            .run = [](const Invocation& in) { return change(in, false); }};
}

}  // namespace postroom::cli
