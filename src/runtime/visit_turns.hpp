// VisitTurns: when stores in which nothing waits are visited all the same, to report and to clean
// up. Pure.
//
// Each has its turn once in an interval, and whatever there is to do is done then: mostly the work
// is to open the file. The turns of many stores are spread over the interval, so that a thousand of
// them do not come at once.
//
// Thread safety: immutable.
#pragma once

#include <cstdint>

#include "postroom/clock.hpp"

namespace postroom {

class VisitTurns {
public:
    explicit VisitTurns(Duration interval) : interval_(interval) {}

    // The next turn of the store. One that is about to come was taken already: by whoever asks.
    Instant after(Instant now, std::uint64_t store) const {
        return last(now + interval_ / 16, store) + interval_;
    }
    // It is the store's turn, or was a short while ago.
    bool is_on(Instant now, std::uint64_t store) const {
        return now - last(now, store) < interval_ / 4;
    }

private:
    Instant last(Instant now, std::uint64_t store) const {
        const Duration since = (now.time_since_epoch() - place(store)) % interval_;
        return now - (since < Duration::zero() ? since + interval_ : since);
    }
    // Multiples of the golden ratio, without what stands before the point, fill the interval
    // evenly however many there are.
    Duration place(std::uint64_t store) const {
        constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;
        constexpr int fraction_bits = 16;
        const std::uint64_t fraction = (store * golden_ratio) >> (64 - fraction_bits);
        return interval_ / (1 << fraction_bits) * static_cast<std::int64_t>(fraction);
    }

    const Duration interval_;
};

}  // namespace postroom
