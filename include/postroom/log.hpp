// LogObserver: writes what happens to messages as lines of text.
//
// A line is one event: a name and fields, `OUTBOX_WORKER_FETCH store=main count=3`. Lines of the
// inbox begin with INBOX_. The store's id is always there, a payload, a header or a hash never.
// Values with spaces, quotes or control characters are quoted and escaped, so that an event is one
// line whatever an error text holds; docs/guides/observing.md lists the lines and their levels.
//
// An error text is what a handler or a driver threw. Postroom cannot know what a handler put into
// it: handlers that quote payloads in their exceptions quote them in the log.
//
// Thread safety: observe() may be called from many threads at once, and then calls `write` from
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "postroom/observer.hpp"

namespace postroom {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
// "DEBUG", "INFO", "WARNING", "ERROR".
std::string_view to_string(LogLevel level);

// One line to standard error: the time (RFC 3339, UTC), the level, the text. Lines of several
// threads do not mix.
void log_to_stderr(LogLevel level, std::string_view text);

struct LogOptions {
    // Takes one line, without a line break at its end. Called from many threads at once; what it
    // throws is swallowed.
    std::function<void(LogLevel, std::string_view)> write = &log_to_stderr;
    LogLevel min_level = LogLevel::info;
    // The INFO lines that come for every message: its enqueuing, its handler's call and return.
    bool per_message_info = true;
    // After so many claims of one queue of one store, a line with the totals since the last; 0: no
    // such lines.
    std::uint32_t summary_every = 100;
    // Longer values (of errors, mostly) are cut and end with "...".
    std::size_t max_value_chars = 1000;
};

class LogObserver final : public Observer {
public:
    // An empty `write` means log_to_stderr().
    explicit LogObserver(LogOptions options = {});
    ~LogObserver() override;

    void observe(const Event& event) noexcept override;

private:
    class Summaries;

    const LogOptions options_;
    const std::unique_ptr<Summaries> summaries_;  // synchronizes itself
};

}  // namespace postroom
