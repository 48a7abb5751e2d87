#include "cli/confirm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "cli/failure.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

Option yes_option() { return {.name = "yes", .what = "Do not ask first; for scripts."}; }

void confirm(const Invocation& in, const std::function<std::string()>& ask) {
    if (in.has("yes") || in.dry_run()) return;
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) {
        throw Failure(ExitCode::usage,
                      fmt::format("{} asks first, and there is no terminal to ask on; --dry-run "
                                  "says what it would do, --yes does it unasked",
                                  in.path()));
    }
    const std::string question = ask();
    if (question.empty()) return;
    const std::string line = fmt::format("{} [y/N] ", printable(question));
    std::fputs(line.c_str(), stderr);
    std::string answer;
    std::getline(std::cin, answer);
    if (answer != "y" && answer != "Y" && answer != "yes") throw EndedByUser("nothing was done");
}

}  // namespace postroom::cli
