// The commands, one file each: the description of a command stands beside what it does.
#pragma once

#include "cli/command.hpp"

namespace postroom::cli {

Command adopt_command();  // of the group migrate
Command backfill_command();
Command bench_command();
Command completion_command();
Command config_command();
Command demo_command();
Command discard_command();
Command doctor_command();
Command enqueue_command();
Command explain_command();
Command healthcheck_command();
Command help_command();
Command list_command();
Command migrate_command();
Command pages_command();  // hidden: writes the reference pages
Command pause_command();
Command purge_command();
Command redrive_command();
Command relay_command();
Command restore_command();
Command resume_command();
Command retry_now_command();
Command show_command();
Command status_command();
Command tail_command();
Command token_command();
Command top_command();
Command torture_command();
Command version_command();
Command workers_command();

}  // namespace postroom::cli
