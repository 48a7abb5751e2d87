// attempt: what a destructor does when the outside world may refuse it.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

namespace postroom::test {

// Calls `action`. An exception goes to standard error, introduced by `what`, and no further.
template <class Action>
void attempt(std::string_view what, Action action) {
    try {
        action();
    } catch (const std::exception& error) {
        std::fputs(fmt::format("{}: {}\n", what, error.what()).c_str(), stderr);
    }
}

}  // namespace postroom::test
