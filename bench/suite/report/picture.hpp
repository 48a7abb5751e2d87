// One picture for each question: bars, floor and ours side by side.
#pragma once

#include <filesystem>

#include "suite/questions/questions.hpp"
#include "suite/results.hpp"

namespace bench {

// Writes `folder`/<question>.svg; nothing, and false, when the question was not asked.
bool write_picture(const Results& results, const Question& question,
                   const std::filesystem::path& folder);

}  // namespace bench
