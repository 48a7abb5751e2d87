// Stopwatch: how long an operator waits for what was asked for.
#pragma once

#include <functional>
#include <string>

#include "postroom/clock.hpp"

namespace postroom::test {

class Stopwatch {
public:
    static constexpr Duration look_max = std::chrono::milliseconds{100};

    // Whether the times are judged, or only printed.
    explicit Stopwatch(bool judges) : judges_(judges) {}

    bool judges() const { return judges_; }
    // Does it, where it is judged a few times, and prints the first time and the best; that counts:
    // what else the machine does at that moment does not.
    void look(const std::string& at, const std::function<void()>& act) const;

    static Duration once(const std::function<void()>& act);
    static void print(const std::string& at, Duration took);

private:
    const bool judges_;
};

}  // namespace postroom::test
