#include "suite/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bench {
namespace {

const std::vector<Column> all_columns = {
    {metric::rate, "messages/s"},
    {metric::client_cpu, "client CPU us/msg"},
    {metric::server_cpu, "server CPU us/msg"},
    {metric::log_bytes, "log B/msg"},
    {metric::p50_us, "p50 us"},
    {metric::p99_us, "p99 us"},
    {metric::idle_percent, "idle % of a core"},
    {metric::claim_start_ms, "claim p50 ms, start"},
    {metric::claim_end_ms, "claim p50 ms, end"},
    {metric::claim_growth, "end/start"},
    {metric::busy_percent, "busy % of a core"},
    {metric::table_mib, "database MiB"},
    {metric::rss_mib, "peak RSS MiB"},
    {metric::wait_start_ms, "mean wait ms, start"},
    {metric::wait_end_ms, "mean wait ms, end"},
    {metric::waiting_end, "waiting at the end"},
    {metric::delivered_percent, "delivered %"},
};

std::string with_commas(long long value) {
    const std::string digits = std::to_string(value);
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
        out += digits[i];
    }
    return out;
}

}  // namespace

std::vector<Column> columns_of(const Group& group) {
    std::vector<Column> out;
    for (const Column& column : all_columns) {
        const bool there =
            std::any_of(group.series.begin(), group.series.end(),
                        [&](const Series& one) { return spread(one, column.metric).has_value(); });
        if (there) out.push_back(column);
    }
    return out;
}

std::string figure(double value) {
    if (value >= 100) return with_commas(std::llround(value));
    return fmt::format("{:.{}f}", value, value >= 10 ? 1 : 2);
}

std::string figure(const Spread& spread, bool with_range) {
    if (!with_range || spread.low == spread.high) return figure(spread.median);
    return fmt::format("{} [{} - {}]", figure(spread.median), figure(spread.low),
                       figure(spread.high));
}

std::string ratio_figure(const Group& group, const Series& series, const std::string& metric_name) {
    const Series* const reference = group.find(group.reference);
    if (reference == nullptr || reference == &series) return "";
    const auto found = ratio(series, *reference, metric_name);
    return found ? figure(*found, true) : "";
}

bool shows_range(const std::string& metric_name) {
    return metric_name == metric::rate || metric_name == metric::p50_us ||
           metric_name == metric::p99_us;
}

}  // namespace bench
