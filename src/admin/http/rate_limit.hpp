// RateLimit: so many a second for each key, with a burst (token bucket). Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace postroom::admin {

class RateLimit {
public:
    using Time = std::chrono::steady_clock::time_point;

    RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

    // Whether `key` may have one more now; takes it.
    bool take(const std::string& key, Time now);
    // Whether it could, without taking it.
    bool has(const std::string& key, Time now) const;

private:
    struct Bucket {
        double left;
        Time at;
    };
    double left(const Bucket& bucket, Time now) const;
    void drop_full(Time now);

    static constexpr std::size_t keys_max = 4096;

    const double per_second_;
    const double burst_;
    std::map<std::string, Bucket> buckets_;
};

}  // namespace postroom::admin
