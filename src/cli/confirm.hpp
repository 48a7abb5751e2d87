// Confirmation: what concerns many messages, and cannot be undone or troubles others, is asked
// about first.
#pragma once

#include <functional>
#include <string>

#include "cli/command.hpp"

namespace postroom::cli {

// --yes
Option yes_option();

// Does nothing with --yes or --dry-run. Else shows the question that `ask` returns and waits for a
// "y"; an empty question: there is nothing to ask about. Throws Failure when the answer is another,
// and before it calls `ask` when there is no terminal to ask on.
void confirm(const Invocation& in, const std::function<std::string()>& ask);

}  // namespace postroom::cli
