#include "admin/http/admin_log.hpp"

#include <utility>

namespace postroom::admin {

namespace {

constexpr std::size_t log_value_chars_max = 1000;

}  // namespace

LogLine log_line(std::string name) { return {std::move(name), log_value_chars_max}; }

void write_log(const AdminOptions& options, LogLevel level, const LogLine& line) {
    if (!options.log) return;
    try {
        options.log(level, line.text());
    } catch (const std::exception&) {
        return;  // nobody is left who could be told
    }
}

void log_failure(const AdminOptions& options, std::string name, const std::exception& error) {
    write_log(options, LogLevel::error, log_line(std::move(name)).add("error", error.what()));
}

}  // namespace postroom::admin
