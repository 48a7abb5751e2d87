// The option --search-time: how long a command goes on searching among millions of messages.
#pragma once

#include "cli/command.hpp"
#include "postroom/clock.hpp"

namespace postroom::cli {

// `until`: what happens when that is over, behind "before ...".
Option search_time_option(const char* until);

// Duration::max() for 0s, which is without end. Throws Failure{usage} for what is no duration.
Duration search_time(const Invocation& in);

}  // namespace postroom::cli
