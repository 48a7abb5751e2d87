#include <fmt/format.h>

#include <algorithm>

#include "cli/command_tree.hpp"
#include "cli/commands/commands.hpp"
#include "cli/error_catalogue.hpp"
#include "cli/failure.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"
#include "cli/pages/pages.hpp"

namespace postroom::cli {

namespace {

constexpr std::string_view errors_word = "errors";

ExitCode explain_errors(const Invocation& in) {
    if (in.arguments().size() == 1) {
        print(errors_text());
        return ExitCode::ok;
    }
    std::vector<std::string> codes;
    for (const ErrorEntry& entry : error_catalogue()) codes.emplace_back(entry.code);
    const std::string code = in.argument(1);
    const ErrorEntry* const entry = error_entry(code);
    if (entry == nullptr || in.arguments().size() > 2)
        throw Failure(ExitCode::usage,
                      fmt::format("there is no error '{}'{}; 'postroom help errors' lists them",
                                  printable(code), did_you_mean(code, codes)));
    print(error_text(*entry));
    return ExitCode::ok;
}

ExitCode run_help(const Invocation& in) {
    if (in.argument(0) == errors_word) return explain_errors(in);
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
            .summary = "List the commands, show how one is used, or explain an error.",
            .arguments = {{.name = "COMMAND",
                           .what = "Such as 'list' or 'migrate up'; 'errors' for the codes that "
                                   "error lines end with, or 'errors CODE' for one of them.",
                           .required = false,
                           .repeats = true}},
            .examples = {"postroom help migrate up", "postroom help errors tls"},
            .reads_config = false,
            .run = &run_help};
}

}  // namespace postroom::cli
