// Log lines of the admin server.
#pragma once

#include <exception>
#include <string>

#include "observe/log_line.hpp"
#include "postroom/admin.hpp"

namespace postroom::admin {

LogLine log_line(std::string name);

// What the log throws is swallowed.
void write_log(const AdminOptions& options, LogLevel level, const LogLine& line);

// For what goes on all the same.
void log_failure(const AdminOptions& options, std::string name, const std::exception& error);

}  // namespace postroom::admin
