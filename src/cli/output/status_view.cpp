#include "cli/output/status_view.hpp"

#include <fmt/format.h>

#include "admin/workers.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

std::string count_text(const Counts& counts, std::uint64_t count) {
    return fmt::format("{}{}", counts.estimated ? "~" : "", count);
}

std::string oldest_text(const admin::QueueStatus& status) {
    const std::optional<Instant>& oldest = status.counts.oldest;
    return oldest ? format_duration(status.now - *oldest) : "-";
}

std::string rate_text(double per_second) { return fmt::format("{:.1f}/s", per_second); }

std::string hold_line(const admin::QueueStatus& status) {
    if (!status.hold) return "";
    return fmt::format("{}: delivery has been held for {}: {}; see 'postroom restore status'\n",
                       printable(status.store), format_duration(status.now - status.hold->since),
                       printable(status.hold->why));
}

std::string paused_lines(const admin::QueueStatus& status) {
    std::string lines;
    for (const PausedTopic& topic : status.paused)
        lines += fmt::format("{}: topic '{}' has been paused for {}\n", printable(status.store),
                             printable(topic.topic), format_duration(status.now - topic.since));
    return lines;
}

std::string down_lines(const admin::QueueStatus& status) {
    std::string lines;
    for (const CircuitReport& circuit : status.down)
        lines += fmt::format("{}: the {} waits for {}\n", printable(status.store),
                             to_string(status.queue),
                             printable(admin::sentence_of(circuit, status.now)));
    return lines;
}

}  // namespace postroom::cli
