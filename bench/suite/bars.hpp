// The bars: what the library is measured against, each a row that is met or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suite/results.hpp"

namespace bench {

struct Bar {
    std::string what{};
    std::string question{};
    std::string engine{};
    std::string setting{};  // a group whose setting begins so; empty: any
    std::string series{};
    std::string reference{};  // empty: the value itself counts, not a ratio
    std::string metric{};
    bool at_least = true;  // else at most
    double value = 0;
};

const std::vector<Bar>& bars();

struct BarResult {
    const Bar* bar = nullptr;
    std::optional<Spread> measured{};   // nullopt: not part of this run
    std::optional<Spread> cpu_ratio{};  // processor time to the reference's, which noise moves less

    bool met() const;
};

std::vector<BarResult> judge(const Results& results);

// "at least 0.95 of INSERT"
std::string requirement(const Bar& bar);

}  // namespace bench
