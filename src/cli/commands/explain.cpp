#include "admin/explain.hpp"

#include <unistd.h>

#include "admin/json_view.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/message_view.hpp"
#include "cli/output/text.hpp"
#include "cli/output/wrap.hpp"
#include "cli/search_time.hpp"
#include "cli/session.hpp"
#include "postroom/handler.hpp"

namespace postroom::cli {

namespace {

bool routed(const Config& config, const Message& message) {
    const BatchHandler never_called = [](auto&&...) { return std::vector<Verdict>{}; };
    Routes routes;
    for (const daemon::RoutePlan& route : config.plan.routes)
        routes.on_matching(route.pattern, 1, never_called);
    return message.queue == Queue::inbox || routes.find(message) != nullptr;
}

ExitCode run_explain(const Invocation& in) {
    const Duration patience = search_time(in);
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const Message message =
        find_message(*store, queue_of(in), in.argument(0), {.patience = patience});
    const admin::Explanation explanation =
        admin::explain(*store, message, [&](const Message& waiting) {
            return !config.remote.empty() ||
                   routed(config, waiting);  // those here are not its routes
        });
    print((in.json() ? admin::json_of(explanation)
                     : fitted_to(STDOUT_FILENO, printable(admin::sentence_of(explanation)))) +
          "\n");
    return ExitCode::ok;
}

}  // namespace

Command explain_command() {
    return {.name = "explain",
            .summary = "Say in one line why a message is not delivered yet.",
            .arguments = {{.name = "ID", .what = "Id, short id (@17) or message id."}},
            .options = {queue_option(), search_time_option("giving up")},
            .prints = true,
            .reaches_relays = true,
            .run = &run_explain};
}

}  // namespace postroom::cli
