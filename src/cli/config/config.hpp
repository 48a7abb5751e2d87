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
    std::string remote{};        // the relay that is asked instead of a database; empty: none
    bool default_store = false;  // nobody named a database
    bool warns = true;           // on standard error; the relay has its log for that
};

// Tells what is odd, or leaves that to the relay: plan.warnings.
//
// Throws Failure{config} that names the file and the line, the variable or the flag, and what would
// be right; Failure{usage} for a secret among the flags.
Config load_config(const Invocation& in);

// The sinks check their own settings: they are made, which may start their clients, and thrown
// away. For those commands that are about sinks. Warns and throws as load_config().
void check_sinks(const Config& config);

}  // namespace postroom::cli
