// SearchPace: how many messages a search goes through at a time, and when it has searched for long
// enough. Pure; knows neither clocks nor databases.
//
// Thread safety: a plain value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "postroom/clock.hpp"

namespace postroom::sql {

class SearchPace {
public:
    // `wanted` messages are looked for; `patience`: Duration::max() is without end.
    SearchPace(std::uint32_t wanted, Duration patience)
        : patience_(patience),
          rows_(std::clamp<std::uint64_t>(std::uint64_t{wanted} * 20, 64, rows_max)) {
        if (patience_ != Duration::max()) rows_ = std::max(rows_, rows_sure);
    }

    // How many messages of each table are next.
    std::uint64_t rows() const { return rows_; }

    // Those took so long. False: what is next would take longer than there is patience for.
    bool go_on_after(Duration took) {
        spent_ += took;
        std::uint64_t times = growth;
        if (patience_ != Duration::max()) {
            if (spent_ + took / growth > patience_) return false;
            times = std::min<std::uint64_t>(growth, fits(took));
        }
        rows_ = std::min(rows_max, rows_ * std::max<std::uint64_t>(times, 1));
        return true;
    }

private:
    // Even without any patience so many are searched; an empty answer is never for lack of trying.
    static constexpr std::uint64_t rows_sure = 2000;
    static constexpr std::uint64_t rows_max = 250'000;
    static constexpr std::uint64_t growth = 4;

    // How many more like the last fit into what is left, rounded down.
    std::uint64_t fits(Duration took) const {
        return static_cast<std::uint64_t>((patience_ - spent_) / std::max(took, Duration{1}));
    }

    Duration patience_;
    Duration spent_{};
    std::uint64_t rows_;
};

}  // namespace postroom::sql
