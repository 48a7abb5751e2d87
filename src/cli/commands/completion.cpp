#include "cli/command_tree.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/text.hpp"
#include "cli/pages/pages.hpp"

namespace postroom::cli {

namespace {

ExitCode run_completion(const Invocation& in) {
    print(completion_text(command_tree(), in.argument(0)));
    return ExitCode::ok;
}

}  // namespace

Command completion_command() {
    return {.name = "completion",
            .summary = "Print the completion script of a shell.",
            .arguments = {{.name = "SHELL",
                           .what = "bash, zsh or fish.",
                           .choices = {"bash", "zsh", "fish"}}},
            .examples = {"source <(postroom completion bash)"},
            .reads_config = false,
            .run = &run_completion};
}

}  // namespace postroom::cli
