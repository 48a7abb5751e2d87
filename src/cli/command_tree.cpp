#include "cli/command_tree.hpp"

#include "cli/commands/commands.hpp"

namespace postroom::cli {

namespace {

void add_config_options(std::vector<Option>& options) {
    options.push_back({.name = "config",
                       .value = "FILE",
                       .what = "Config file; else $POSTROOM_CONFIG, else postroom.toml here if it "
                               "is there."});
    options.push_back({.name = "url",
                       .value = "URL",
                       .what = "Address of the store 'main'. With a password: use POSTROOM_URL or "
                               "a file, others can read your command line."});
    options.push_back(
        {.name = "store", .value = "NAME", .what = "The store to work on, if there are several."});
    options.push_back({.name = "set",
                       .value = "KEY=VALUE",
                       .what = "Any setting, such as relay.batch=10.",
                       .repeats = true});
}

void complete(Command& command) {
    for (Command& inner : command.commands) complete(inner);
    if (command.run) {
        if (command.changes)
            command.options.push_back(
                {.name = "dry-run", .what = "Show what would be done, and change nothing."});
        if (command.prints) command.options.push_back({.name = "json", .what = "Print JSON."});
        if (command.tabulates)
            command.options.push_back(
                {.name = "wide",
                 .what = "Show the table in full, even where it does not fit the terminal."});
        if (command.reads_config) add_config_options(command.options);
        if (command.reaches_relays)
            command.options.push_back(
                {.name = "remote",
                 .value = "URL",
                 .what = "Ask the admin server of a running relay, such as http://127.0.0.1:8025, "
                         "instead of a database. A token is taken from POSTROOM_TOKEN."});
    }
    command.options.push_back({.name = "help", .what = "Show this help.", .letter = 'h'});
}

}  // namespace

const Command& command_tree() {
    static const Command root = [] {
        Command all{
            .name = "postroom",
            .summary = "The transactional outbox and inbox: relay messages, operate the queues.",
            .details =
                "Without any configuration it works on the SQLite file postroom.db in the "
                "current folder and delivers to standard output. A server database is one "
                "URL away: POSTROOM_URL=postgresql://... postroom relay",
            .commands = {
                relay_command(),     enqueue_command(),    status_command(),  workers_command(),
                top_command(),       list_command(),       show_command(),    explain_command(),
                tail_command(),      pause_command(),      resume_command(),  redrive_command(),
                retry_now_command(), discard_command(),    purge_command(),   restore_command(),
                migrate_command(),   backfill_command(),   doctor_command(),  healthcheck_command(),
                token_command(),     bench_command(),      torture_command(), demo_command(),
                config_command(),    completion_command(), help_command(),    version_command(),
                pages_command()}};
        complete(all);
        return all;
    }();
    return root;
}

}  // namespace postroom::cli
