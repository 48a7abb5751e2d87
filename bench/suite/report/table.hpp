// Tables for people who look at a terminal.
#pragma once

#include <vector>

#include "suite/bars.hpp"
#include "suite/results.hpp"

namespace bench {

void print_group(const Group& group);
void print_bars(const std::vector<BarResult>& results);

}  // namespace bench
