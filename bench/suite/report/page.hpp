// The page of evidence, in Markdown.
#pragma once

#include <filesystem>

#include "suite/results.hpp"

namespace bench {

// Writes the page, and its pictures into the folder `performance` beside it.
void write_page(const Results& results, const std::filesystem::path& file);

}  // namespace bench
