// A script as the batches between its GO lines.
#pragma once

#include <string>
#include <vector>

namespace postroom::sqlserver {

std::vector<std::string> split_script(const std::string& script);

}  // namespace postroom::sqlserver
