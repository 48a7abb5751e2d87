#include "cli/message_filter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "admin/dead_letters.hpp"
#include "cli/failure.hpp"
#include "cli/output/text.hpp"
#include "queue/query_texts.hpp"

namespace postroom::cli {

namespace {

struct TimeFilter {
    const char* option;
    std::optional<Instant> Query::*member;
};

constexpr std::array time_filters{TimeFilter{"since", &Query::created_from},
                                  TimeFilter{"until", &Query::created_before}};

// A point in time, or so long ago.
std::optional<Instant> time_of(const std::string& text, Instant now) {
    if (const std::optional<Duration> ago = parse_duration(text)) return now - *ago;
    return parse_time(text);
}

// Spelled as options are.
std::string option_of(std::string_view field) {
    std::string option(field);
    std::ranges::replace(option, '_', '-');
    return option;
}

void check_fingerprint(const Invocation& in) {
    if (!in.has("fingerprint")) return;
    if (!admin::is_fingerprint(in.value("fingerprint")))
        throw Failure(
            ExitCode::usage,
            "--fingerprint needs 16 hexadecimal digits, as 'show' tells of a dead message");
    if (in.value("state", "dead") != "dead")
        throw Failure(ExitCode::usage, "--fingerprint goes with --state dead only");
}

}  // namespace

std::vector<Option> message_filter_options() {
    return {
        {.name = "topic", .value = "TOPIC", .what = "Only those of this topic, exactly."},
        {.name = "source", .value = "SOURCE", .what = "Inbox: only those from this source."},
        {.name = "ordering-key", .value = "KEY", .what = "Only those of this ordering key."},
        {.name = "aggregate-type",
         .value = "TYPE",
         .what = "Only those about things of this type."},
        {.name = "tenant-id", .value = "ID", .what = "Only those of this tenant."},
        {.name = "correlation-id", .value = "ID", .what = "Only those with this correlation id."},
        {.name = "error",
         .value = "TEXT",
         .what = "Only those whose last error has this in it, upper and lower case as given."},
        {.name = "since",
         .value = "TIME",
         .what = "Only those created since then: a time such as 2026-01-31T12:00:00Z, or how "
                 "long ago, such as 2h."},
        {.name = "until", .value = "TIME", .what = "Only those created before then."}};
}

Option fingerprint_option() {
    return {.name = "fingerprint",
            .value = "DIGITS",
            .what =
                "Only dead messages with this fingerprint: those that died of the same error, "
                "but for ids, numbers and quoted values in it."};
}

bool has_message_filter(const Invocation& in) {
    return in.has("fingerprint") ||
           std::ranges::any_of(message_filter_options(),
                               [&](const Option& option) { return in.has(option.name); });
}

void check_message_filter(const Invocation& in) {
    for (const Option& option : message_filter_options()) {
        if (in.has(option.name) && in.value(option.name).empty())
            throw Failure(ExitCode::usage, fmt::format("--{} must not be empty", option.name));
    }
    for (const TimeFilter& filter : time_filters) {
        if (in.has(filter.option) && !time_of(in.value(filter.option), Instant{}))
            throw Failure(ExitCode::usage,
                          fmt::format("--{} needs a time such as 2026-01-31T12:00:00Z, or how long "
                                      "ago, such as 2h",
                                      filter.option));
    }
    check_fingerprint(in);
}

Query message_filter(const Invocation& in, Store& store) {
    Query query;
    visit_texts(query, [&in](std::string_view name, std::optional<std::string>& wanted) {
        const std::string option = option_of(name);
        if (in.has(option)) wanted = in.value(option);
    });
    query.error_part = in.value("error");
    for (const TimeFilter& filter : time_filters)
        if (in.has(filter.option))
            query.*filter.member = time_of(in.value(filter.option), store.now());
    return query;
}

}  // namespace postroom::cli
