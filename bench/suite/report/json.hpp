// results.json: everything that was measured, for machines, written and read back.
#pragma once

#include <filesystem>

#include "suite/results.hpp"

namespace bench {

void write_json(const Results& results, const std::filesystem::path& file);
// Throws std::runtime_error for a file that write_json() has not written.
Results read_json(const std::filesystem::path& file);

}  // namespace bench
