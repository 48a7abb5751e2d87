// Config: the settings of this run, put together from file, environment and flags, and checked.
//
// Flags win over the environment, that over the file, that over the defaults. Without any of them
// there is one store, the SQLite file postroom.db in the current folder, and one sink, stdout.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/config/values.hpp"
#include "daemon/relay_plan.hpp"

namespace postroom::cli {

struct Config {
    std::string file{};  // empty: none was read
    Values values{};
    daemon::RelayPlan plan{};
    bool default_store = false;  // nobody named a database
};

// Throws Failure{config} that names the file and the line, the variable or the flag, and what would
// be right; Failure{usage} for a secret among the flags.
Config load_config(const Invocation& in);

// The sinks check their own settings: they are made, which may start their clients, and thrown
// away. For those commands that are about sinks. Throws as load_config().
void check_sinks(const Config& config);

}  // namespace postroom::cli
