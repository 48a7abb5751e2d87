#include "backends/sqlserver/script.hpp"

#include <sstream>

namespace postroom::sqlserver {

namespace {

bool has_text(const std::string& batch) {
    return batch.find_first_not_of(" \t\r\n") != std::string::npos;
}

}  // namespace

std::vector<std::string> split_script(const std::string& script) {
    std::vector<std::string> batches;
    std::string batch;
    std::istringstream lines(script);
    const auto end_batch = [&] {
        if (has_text(batch)) batches.push_back(batch);
        batch.clear();
    };
    for (std::string line; std::getline(lines, line);) {
        if (line == "GO") {
            end_batch();
        } else {
            batch.append(line).push_back('\n');
        }
    }
    end_batch();
    return batches;
}

}  // namespace postroom::sqlserver
