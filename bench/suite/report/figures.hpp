// Figures as people read them: which metrics are shown, under which heading, with how many digits.
#pragma once

#include <string>
#include <vector>

#include "suite/results.hpp"

namespace bench {

struct Column {
    std::string metric{};
    std::string heading{};
};

// The columns that at least one series of the group has values for, the ratio not among them.
std::vector<Column> columns_of(const Group& group);

// Three significant digits or whole numbers: 12,345 and 0.97 and 4.1.
std::string figure(double value);
// The median, and the lowest and highest in brackets when there are several.
std::string figure(const Spread& spread, bool with_range);

// The ratio of the picture's metric to the group's reference; empty without one.
std::string ratio_figure(const Group& group, const Series& series, const std::string& metric_name);

// Pairs of median and range are shown for the rate and for latencies only.
bool shows_range(const std::string& metric_name);

}  // namespace bench
