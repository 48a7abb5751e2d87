// What the storage comparisons share: their command line, medians, a stopwatch and random numbers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace bench {

// The main function of a comparison: `run(target, quick)` with the command line's words.
template <class Run>
int run_comparison(int argc, char** argv, const char* target, const Run& run) {
    const bool quick = argc == 3 && std::string(argv[2]) == "--quick";
    if (argc != 2 && !quick) {
        std::fprintf(stderr, "usage: %s %s [--quick]\n", argv[0], target);
        return 2;
    }
    return run(argv[1], quick);
}

// The payload every shape stores: 200 bytes, the size of a small JSON document.
inline std::string sample_payload() {
    std::string text = R"({"order":12345,"customer":"a name","lines":[)";
    text.append(200 - text.size() - 2, '1');
    return text + "]}";
}

class Stopwatch {
public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The value at `fraction` of the sorted samples; 0 for no samples.
inline double percentile(std::vector<double> samples, double fraction) {
    if (samples.empty()) return 0;
    std::sort(samples.begin(), samples.end());
    const auto last = samples.size() - 1;
    return samples[std::min(
        last, static_cast<std::size_t>(fraction * static_cast<double>(samples.size())))];
}

inline double median(const std::vector<double>& samples) { return percentile(samples, 0.5); }

inline std::int64_t random_int64() {
    thread_local std::mt19937_64 engine{std::random_device{}()};
    return static_cast<std::int64_t>(engine());
}

}  // namespace bench
