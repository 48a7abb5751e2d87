// The error catalogue: a code for what the program can end with, why it happens, and what to do.
//
// An error line ends with the way to its entry, and docs/reference/errors.md holds them all.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "cli/exit_code.hpp"

namespace postroom::cli {

using ErrorTexts = std::array<std::string_view, 7>;  // those that are not needed are empty

struct ErrorEntry {
    // Whatever else ends with `exit`.
    constexpr bool is_general() const { return texts[0].empty(); }

    std::string_view code;
    ExitCode exit{};
    ErrorTexts texts{};  // the error is this one when its text has one of them
    std::string_view cause;
    std::string_view advice;
};

// Special ones before the general one of their exit code.
std::span<const ErrorEntry> error_catalogue();
// nullptr: there is no such code.
const ErrorEntry* error_entry(std::string_view code);
// That of an error with this text. `exit` is not ok.
const ErrorEntry& entry_of(ExitCode exit, std::string_view text);

// `text`, and how to read more about it. A wrong command line names its own help.
std::string with_way_to_entry(ExitCode exit, const std::string& text);

}  // namespace postroom::cli
