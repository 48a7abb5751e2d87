#include "base/nearest.hpp"

#include <algorithm>
#include <vector>

namespace postroom::base {

namespace {

constexpr std::size_t distance_max = 3;

}  // namespace

// Three rows of the usual table suffice: the current one and the two before it, for swaps.
std::size_t edit_distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> before_last(other.size() + 1);
    std::vector<std::size_t> last(other.size() + 1);
    std::vector<std::size_t> row(other.size() + 1);
    for (std::size_t j = 0; j <= other.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= one.size(); ++i) {
        before_last.swap(last);
        last.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= other.size(); ++j) {
            const bool same = one[i - 1] == other[j - 1];
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
    }
    return row[other.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    std::optional<std::string> best;
    std::size_t best_distance = 0;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        const std::size_t longer = std::max(word.size(), candidate.size());
        const std::size_t allowed = std::min(distance_max, (longer + 2) / 3);
        if (distance > allowed || (best && distance >= best_distance)) continue;
        best = candidate;
        best_distance = distance;
    }
    return best;
}

}  // namespace postroom::base
