// Holds: who had which message when, by the database's clock, and whether two had it at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace postroom::torture {

struct Hold {
    std::int64_t lease_id = 0;
    std::int64_t since = 0;  // microseconds of the database's clock
    std::int64_t until = 0;
    // A time before the holder tried to settle it; from then on the message may be anybody's.
    std::int64_t settled_after = std::numeric_limits<std::int64_t>::max();

    std::int64_t end() const { return std::min(until, settled_after); }
};

// The holds of each message, by message id.
using Holds = std::map<std::string, std::vector<Hold>>;

// One line for each pair of holds that overlap.
inline std::vector<std::string> double_holders(Holds holds) {
    std::vector<std::string> lines;
    for (auto& [id, list] : holds) {
        std::sort(list.begin(), list.end(),
                  [](const Hold& a, const Hold& b) { return a.since < b.since; });
        for (std::size_t i = 1; i < list.size(); ++i) {
            const Hold& before = list[i - 1];
            if (list[i].since >= before.end()) continue;
            lines.push_back(id + ": lease " + std::to_string(list[i].lease_id) + " began " +
                            std::to_string(before.end() - list[i].since) +
                            " us before the end of lease " + std::to_string(before.lease_id));
        }
    }
    return lines;
}

// Messages that were handed out more than once.
inline std::uint64_t redelivered(const Holds& holds) {
    return static_cast<std::uint64_t>(std::count_if(
        holds.begin(), holds.end(), [](const auto& entry) { return entry.second.size() > 1; }));
}

}  // namespace postroom::torture
