#include "conformance/stopwatch.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>

namespace postroom::test {

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

}  // namespace

void Stopwatch::look(const std::string& at, const std::function<void()>& act) const {
    const int looks = judges_ ? 3 : 1;
    const Duration first = once(act);
    Duration best = first;
    for (int i = 1; i < looks; ++i) best = std::min(best, once(act));
    std::cout << fmt::format("    {:<52} {:>8.1f} ms, at first {:>8.1f} ms\n", at,
                             Milliseconds(best).count(), Milliseconds(first).count());
    if (judges_) {
        EXPECT_LE(best, look_max) << at;
    }
}

Duration Stopwatch::once(const std::function<void()>& act) {
    const auto begun = std::chrono::steady_clock::now();
    act();
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun);
}

void Stopwatch::print(const std::string& at, Duration took) {
    std::cout << fmt::format("    {:<52} {:>8.1f} ms\n", at, Milliseconds(took).count());
}

}  // namespace postroom::test
