// The whole command tree.
#pragma once

#include "cli/command.hpp"

namespace postroom::cli {

// With the options that commands share filled in.
const Command& command_tree();

}  // namespace postroom::cli
