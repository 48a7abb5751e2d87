#include "sql/utc_text.hpp"

#include <algorithm>
#include <chrono>

#include "base/rfc3339.hpp"

namespace postroom::sql {

namespace {

using namespace std::chrono;

constexpr auto earliest = duration_cast<Duration>(sys_days{year{1} / 1 / 1}.time_since_epoch());
constexpr auto latest =
    duration_cast<Duration>(sys_days{year{10000} / 1 / 1}.time_since_epoch()) - Duration{1};

}  // namespace

std::string utc_text(Instant time) {
    const auto since_epoch = std::clamp<Duration>(time.time_since_epoch(), earliest, latest);
    std::string text = base::rfc3339(sys_time<microseconds>(since_epoch));
    text.pop_back();  // the Z
    return text;
}

}  // namespace postroom::sql
