#include <fmt/format.h>

#include "admin/json_view.hpp"
#include "admin/workers.hpp"
#include "base/duration_text.hpp"
#include "base/json_fields.hpp"
#include "base/rfc3339.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/message_view.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/search_time.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

// A block each: side by side their columns would fit no terminal.
std::string attempts_text(const std::vector<FailedAttempt>& attempts, const Layout& layout) {
    std::string text;
    for (const FailedAttempt& attempt : attempts) {
        Table table({"FAILED AT", base::rfc3339_milliseconds(attempt.at).c_str()});
        if (attempt.claimed_at)
            table.add({"claimed at", base::rfc3339_milliseconds(*attempt.claimed_at)});
        if (attempt.took) table.add({"took", base::format_duration(*attempt.took)});
        table.add({"worker", attempt.worker.to_string()});
        if (!attempt.destination.empty()) table.add({"destination", attempt.destination});
        table.add({"outcome", std::string(to_string(attempt.outcome))});
        table.add({"error", one_line(attempt.error)});
        table.wrap_last();
        text += "\n" + table.text(layout);
    }
    return text;
}

// Whoever can read the tables can read a payload: where the record cannot be written, it is shown
// all the same.
void record_reveal(Store& store, const Message& message) {
    StoreControls* const desk = controls_of(store);
    if (desk == nullptr) return;
    try {
        desk->record_audit({.who = operator_name(),
                            .what = "reveal",
                            .target = message.id.to_string(),
                            .count = 1,
                            .outcome = "revealed"});
    } catch (const Error& error) {
        complain(fmt::format("warning: the audit log does not have this: {}", error.what()));
    }
}

ExitCode run_show(const Invocation& in) {
    const Duration patience = search_time(in);
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const bool payload = in.has("payload");
    const Message message = find_message(*store, queue_of(in), in.argument(0),
                                         {.payload = payload, .patience = patience});
    const admin::Payload shown = payload ? admin::Payload::shown : admin::Payload::hidden;
    const admin::MessageDetail detail = admin::detail_of(*store, message);
    const std::string json = admin::json_of(message, shown);
    if (payload) record_reveal(*store, message);
    if (in.json()) {
        print(admin::json_of(detail, shown) + "\n");
        return ExitCode::ok;
    }
    Table table({"FIELD", "VALUE"});
    for (const base::JsonField& field : base::json_fields(json)) {
        // The name of "none" is for programs.
        if (field.text == AggregateType::global_name) continue;
        table.add({field.key, field.text});
    }
    if (detail.waits_for)
        table.add({"waits_for", admin::sentence_of(*detail.waits_for, detail.now)});
    table.wrap_last();
    print(table.text(layout_for(in)) + attempts_text(detail.attempts, layout_for(in)));
    return ExitCode::ok;
}

}  // namespace

Command show_command() {
    return {.name = "show",
            .summary = "Show one message with all its fields and its last failed attempts.",
            .details =
                "Payload and headers may hold what is not for everybody: they come only "
                "with --payload.",
            .arguments = {{.name = "ID", .what = "Id, short id (@17) or message id."}},
            .options = {queue_option(),
                        {.name = "payload", .what = "Show the payload and the headers too."},
                        search_time_option("giving up")},
            .prints = true,
            .tabulates = true,
            .reaches_relays = true,
            .run = &run_show};
}

}  // namespace postroom::cli
