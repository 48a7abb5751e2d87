// The hint behind "unknown ...".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/nearest.hpp"

namespace postroom::cli {

// "; did you mean 'x'?", or nothing when no candidate is near.
inline std::string did_you_mean(std::string_view word, std::span<const std::string> candidates,
                                std::string_view prefix = {}) {
    const std::optional<std::string> guess = base::nearest(word, candidates);
    if (!guess) return "";
    return std::string("; did you mean '").append(prefix).append(*guess).append("'?");
}

}  // namespace postroom::cli
