// ExitCode: what the program tells the shell, the same for every command.
#pragma once

#include <array>
#include <string_view>

namespace postroom::cli {

enum class ExitCode {
    ok = 0,
    failed = 1,
    usage = 2,
    unavailable = 3,
    not_found = 4,
    config = 5,
    schema = 6,
    input = 7,
    left = 8,
};

struct ExitCodeText {
    ExitCode code;
    std::string_view name;
    std::string_view what;
};

inline constexpr std::array exit_codes{
    ExitCodeText{ExitCode::ok, "ok", "done, or nothing to do"},
    ExitCodeText{ExitCode::failed, "failed", "the database refused, or something unforeseen"},
    ExitCodeText{ExitCode::usage, "usage", "the command line is wrong; nothing was done"},
    ExitCodeText{ExitCode::unavailable, "unavailable",
                 "a database cannot be reached or refuses the login; trying again may help"},
    ExitCodeText{ExitCode::not_found, "not_found", "the message, store or file is not there"},
    ExitCodeText{ExitCode::config, "config",
                 "the config file or the environment is wrong; nothing was done"},
    ExitCodeText{ExitCode::schema, "schema",
                 "the schema is missing or not as this program needs it; see postroom migrate"},
    ExitCodeText{ExitCode::input, "input",
                 "what was read is malformed; the line says where, and what was done before it"},
    ExitCodeText{
        ExitCode::left, "left",
        "relay --once: messages that were due are not delivered; they wait for another "
        "attempt, are dead, or could not be claimed; restore discard: some are still leased"},
};

}  // namespace postroom::cli
