#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/input/json_fields.hpp"
#include "cli/output/message_view.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

ExitCode run_show(const Invocation& in) {
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const Message message = find_message(*store, queue_of(in), in.argument(0));
    const std::string json = message_view_json(message, in.has("payload"));
    if (in.json()) {
        print(json + "\n");
        return ExitCode::ok;
    }
    Table table({"FIELD", "VALUE"});
    for (const JsonField& field : json_fields(json)) table.add({field.key, field.text});
    print(table.text());
    return ExitCode::ok;
}

}  // namespace

Command show_command() {
    return {.name = "show",
            .summary = "Show one message with all its fields.",
            .details =
                "Payload and headers may hold what is not for everybody: they come only "
                "with --payload.",
            .arguments = {{.name = "ID", .what = "Id of the row, or message id."}},
            .options = {queue_option(),
                        {.name = "payload", .what = "The payload and the headers too."}},
            .prints = true,
            .run = &run_show};
}

}  // namespace postroom::cli
