// How long a comparison takes must not tell how much of a forged signature was right.
//
// Welch's t-test over two classes of wrong signatures: differing in the first byte, and in the
// last. The same measurement must find the leak of a plain comparison, else it would prove nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using Compare = bool (*)(std::string_view, std::string_view);

// Longer than a digest: what leaks on 32 bytes leaks more here.
constexpr std::size_t length = 4096;

bool plain_equal(std::string_view a, std::string_view b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i]) return false;
    return true;
}

struct Moments {
    double count = 0;
    double mean = 0;
    double squares = 0;

    void add(double value) {
        count += 1;
        const double delta = value - mean;
        mean += delta / count;
        squares += delta * (value - mean);
    }
    double error() const { return squares / (count - 1) / count; }
};

// The t-statistic; the slowest tenth is left out, since it measures the machine's interruptions.
double timing_difference(Compare compare, std::uint64_t samples, std::uint32_t seed) {
    std::mt19937 random(seed);
    const std::string expected(length, 'x');
    std::string given = expected;
    std::vector<std::pair<bool, double>> times;
    times.reserve(samples);
    bool any_equal = false;
    for (std::uint64_t i = 0; i < samples; ++i) {
        const bool last = random() % 2 == 0;
        // Both ends are written in both classes, so that the caches hold the same.
        given.front() = last ? 'x' : 'y';
        given.back() = last ? 'y' : 'x';
        const auto start = std::chrono::steady_clock::now();
        any_equal |= compare(expected, given);
        const std::chrono::duration<double, std::nano> spent =
            std::chrono::steady_clock::now() - start;
        times.emplace_back(last, spent.count());
    }
    EXPECT_FALSE(any_equal);
    std::vector<double> sorted;
    for (const auto& [last, time] : times) sorted.push_back(time);
    const auto cut = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 9 / 10);
    std::nth_element(sorted.begin(), cut, sorted.end());
    Moments first_moments;
    Moments last_moments;
    for (const auto& [last, time] : times)
        if (time <= *cut) (last ? last_moments : first_moments).add(time);
    return std::abs(first_moments.mean - last_moments.mean) /
           std::sqrt(first_moments.error() + last_moments.error());
}

constexpr double leak = 4.5;

TEST(ConstantTimeEqual, TimeDoesNotTellWhereSignaturesDiffer) {
    const std::uint64_t samples = scaled(1'000'000, 100'000);
    // A busy machine may disturb one run; a leak shows in all of them.
    double smallest = timing_difference(&base::constant_time_equal, samples, 1);
    for (std::uint32_t seed = 2; seed <= 5 && smallest >= leak; ++seed)
        smallest = std::min(smallest, timing_difference(&base::constant_time_equal, samples, seed));
    EXPECT_LT(smallest, leak);
    RecordProperty("t_statistic", std::to_string(smallest));
}

TEST(ConstantTimeEqual, TheMeasurementFindsTheLeakOfAPlainComparison) {
    for (std::uint32_t seed = 1; seed <= 5; ++seed)
        EXPECT_GT(timing_difference(&plain_equal, 20'000, seed), leak);
}

}  // namespace
}  // namespace postroom::test
