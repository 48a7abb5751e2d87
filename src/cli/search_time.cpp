#include "cli/search_time.hpp"

#include <fmt/format.h>

#include "admin/messages.hpp"
#include "cli/failure.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

Option search_time_option(const char* until) {
    return {.name = "search-time",
            .value = "DURATION",
            .what = fmt::format("Among millions of messages, go on searching for this long, such "
                                "as 10s, before {}; 50ms by default, 0s to search all of them.",
                                until)};
}

Duration search_time(const Invocation& in) {
    if (!in.has("search-time")) return admin::page_patience;
    const std::optional<Duration> time = parse_duration(in.value("search-time"));
    if (!time) throw Failure(ExitCode::usage, "--search-time needs a duration such as 10s, or 0s");
    return *time == Duration::zero() ? Duration::max() : *time;
}

}  // namespace postroom::cli
