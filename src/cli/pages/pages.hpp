// What is read off the command tree and the settings table: help, completion, man page, references.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "cli/error_catalogue.hpp"

namespace postroom::cli {

// For a terminal. `path` are the words behind "postroom" that lead to the command.
std::string help_text(const Command& command, const std::string& path);
// "postroom migrate up [options] ARG"
std::string usage_line(const Command& command, const std::string& path);

// For a terminal: all errors with their causes, and one with all there is about it.
std::string errors_text();
std::string error_text(const ErrorEntry& entry);

// `shell` is bash, zsh or fish.
std::string completion_text(const Command& root, const std::string& shell);

// roff: postroom(1) and postroom.toml(5)
std::string man_page(const Command& root);
std::string config_man_page();

// docs/reference/cli.md and docs/reference/config.md
std::string cli_reference(const Command& root);
std::string config_reference();
// The table in docs/reference/errors.md.
std::string error_table();

// The name of a setting as a user would write it: "stores.*.url" is "stores.NAME.url".
std::string placeholder_key(const std::string& key);

// All commands that do something, with the words that lead to them, hidden ones left out.
struct Leaf {
    const Command* command;
    std::string path;
};
std::vector<Leaf> leaves(const Command& root, const std::string& path = "");

}  // namespace postroom::cli
