#include <fmt/format.h>

#include <algorithm>

#include "cli/command_tree.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/text.hpp"
#include "cli/pages/pages.hpp"

namespace postroom::cli {

namespace {

ExitCode run_help(const Invocation& in) {
    const Command* command = &command_tree();
    std::string path;
    for (const std::string& word : in.arguments()) {
        const auto next = std::ranges::find(command->commands, word, &Command::name);
        if (next == command->commands.end())
            throw Failure(ExitCode::usage,
                          fmt::format("there is no command '{}{}{}'; 'postroom "
                                      "help' lists them",
                                      path, path.empty() ? "" : " ", printable(word)));
        command = &*next;
        path += (path.empty() ? "" : " ") + word;
    }
    print(help_text(*command, path));
    return ExitCode::ok;
}

}  // namespace

Command help_command() {
    return {.name = "help",
            .summary = "List the commands, or show how one is used.",
            .arguments = {{.name = "COMMAND",
                           .what = "Such as 'list' or 'migrate up'.",
                           .required = false,
                           .repeats = true}},
            .reads_config = false,
            .run = &run_help};
}

}  // namespace postroom::cli
