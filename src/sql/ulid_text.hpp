// ULIDs made by a database, for messages that come without an id: the same form as the library's,
// so that a message is found by its id wherever it was written.
//
// The 16 random digits may be hexadecimal ones, which are digits of a ULID too: 64 random bits in
// each millisecond instead of 80, for a fraction of the work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace postroom::sql {

// The ten digits that tell the time, with `between` between them. `digit` yields one of them from
// the milliseconds since 1970: {0} are all digits in their order, {1} is what it divides by.
inline std::string ulid_time_text(std::string_view digit, std::string_view between) {
    constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    constexpr int bits_of_others = 45;
    std::string out;
    for (int bits = bits_of_others; bits >= 0; bits -= 5) {
        if (!out.empty()) out += between;
        out += fmt::format(fmt::runtime(digit), digits, std::uint64_t{1} << bits);
    }
    return out;
}

}  // namespace postroom::sql
