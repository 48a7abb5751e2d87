// Reads a command line by the command tree.
#pragma once

#include <span>
#include <string>

#include "cli/command.hpp"

namespace postroom::cli {

// The command that `words` (without the program's name) call. `--help` anywhere comes back as the
// option "help" of the command it stands behind, whatever else is missing. Throws Failure{usage}
// that names the word at fault and its nearest match.
Invocation parse(const Command& root, std::span<const std::string> words);

}  // namespace postroom::cli
