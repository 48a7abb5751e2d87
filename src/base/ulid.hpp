// ULID: 26 characters that sort by time: 48 bits of milliseconds, then 80 random bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "postroom/clock.hpp"

namespace postroom::base {

inline constexpr std::size_t ulid_length = 26;
inline constexpr std::uint64_t ulid_milliseconds_max = (std::uint64_t{1} << 48) - 1;

struct UlidParts {
    std::uint64_t milliseconds = 0;  // Since 1970, at most ulid_milliseconds_max.
    std::uint16_t random_high = 0;
    std::uint64_t random_low = 0;
};

// Crockford's base 32, upper case. Throws std::out_of_range for a time that does not fit.
std::string encode_ulid(const UlidParts& parts);

// When it was made; nullopt: this is no ULID.
std::optional<Instant> ulid_time(std::string_view ulid);

// UlidGenerator: every ULID is greater than the one before it.
//
// Within one millisecond the random part grows by a random step instead of by one, so that a forked
// child, which starts from its parent's last value, walks other steps than the parent. A clock that
// goes backwards leaves the time part where it was; a random part that overflows moves the time
// part on by a millisecond.
//
// `clock` and `random` must outlive the generator.
//
// Thread safety: may be shared. `random` is drawn from under the generator's mutex.
class UlidGenerator {
public:
    UlidGenerator(const Clock& clock, Random& random);

    // Throws std::out_of_range for a clock before 1970 or after the year 10889.
    std::string next();

private:
    void advance(std::uint64_t now_milliseconds) POSTROOM_REQUIRES(mutex_);
    void draw_random_part() POSTROOM_REQUIRES(mutex_);

    const Clock& clock_;
    Random& random_;

    Mutex mutex_;
    UlidParts last_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom::base
