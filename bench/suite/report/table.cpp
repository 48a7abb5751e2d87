#include "suite/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "suite/report/figures.hpp"

namespace bench {
namespace {

using Lines = std::vector<std::vector<std::string>>;

void print(const Lines& lines) {
    std::vector<std::size_t> widths;
    for (const auto& line : lines) {
        widths.resize(std::max(widths.size(), line.size()));
        for (std::size_t i = 0; i < line.size(); ++i)
            widths[i] = std::max(widths[i], line[i].size());
    }
    for (const auto& line : lines) {
        std::string text = "  ";
        for (std::size_t i = 0; i < line.size(); ++i)
            text += fmt::format("{:<{}}", line[i], widths[i] + 2);
        text.erase(text.find_last_not_of(' ') + 1);
        fmt::print("{}\n", text);
    }
    std::fflush(stdout);
}

}  // namespace

void print_group(const Group& group) {
    fmt::print("\n{} / {} / {}\n", group.question, group.engine, group.setting);
    const std::vector<Column> columns = columns_of(group);
    Lines lines{{""}};
    for (const Column& column : columns) lines[0].push_back(column.heading);
    lines[0].push_back(group.reference.empty() ? "" : "ratio");
    for (const Series& series : group.series) {
        std::vector<std::string> line{
            fmt::format("{:<7}{}", to_string(series.role) + std::string(":"), series.name)};
        for (const Column& column : columns) {
            const auto found = spread(series, column.metric);
            line.push_back(found ? figure(*found, shows_range(column.metric)) : "");
        }
        line.push_back(ratio_figure(group, series, metric::rate));
        lines.push_back(std::move(line));
    }
    print(lines);
}

void print_bars(const std::vector<BarResult>& results) {
    fmt::print("\nThe bars\n");
    Lines lines{{"", "engine", "bar", "measured", "CPU ratio", ""}};
    for (const BarResult& result : results) {
        if (!result.measured) continue;
        lines.push_back({result.bar->what, result.bar->engine, requirement(*result.bar),
                         figure(*result.measured, true),
                         result.cpu_ratio ? figure(result.cpu_ratio->median) : "",
                         result.met() ? "met" : "NOT MET"});
    }
    print(lines);
}

}  // namespace bench
