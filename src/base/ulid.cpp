#include "base/ulid.hpp"

#include <chrono>
#include <stdexcept>
#include <string_view>

namespace postroom::base {

namespace {

constexpr std::string_view crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr unsigned time_digits = 10;

void require_48_bits(std::uint64_t milliseconds) {
    if (milliseconds > ulid_milliseconds_max)
        throw std::out_of_range("ulid: the time does not fit into 48 bits");
}

std::uint64_t milliseconds_since_epoch(Instant now) {
    const auto count =
        std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
    if (count < 0) throw std::out_of_range("ulid: the clock shows a time before 1970");
    const auto milliseconds = static_cast<std::uint64_t>(count);
    require_48_bits(milliseconds);
    return milliseconds;
}

// Writes the low 5 * `count` bits of `value` as digits, most significant first.
void append_digits(std::string& text, std::uint64_t value, unsigned count) {
    while (count > 0) text.push_back(crockford[(value >> (5 * --count)) & 0x1Fu]);
}

}  // namespace

std::string encode_ulid(const UlidParts& parts) {
    require_48_bits(parts.milliseconds);
    std::string text;
    text.reserve(ulid_length);
    append_digits(text, parts.milliseconds, time_digits);
    // 80 bits as two halves of 40: 16 + 24 bits, then 40.
    append_digits(text, std::uint64_t{parts.random_high} << 24 | parts.random_low >> 40, 8);
    append_digits(text, parts.random_low, 8);
    return text;
}

std::optional<Instant> ulid_time(std::string_view ulid) {
    if (ulid.size() != ulid_length) return std::nullopt;
    std::uint64_t milliseconds = 0;
    for (std::size_t i = 0; i < ulid.size(); ++i) {
        const std::size_t digit = crockford.find(ulid[i]);
        if (digit == std::string_view::npos) return std::nullopt;
        if (i < time_digits) milliseconds = milliseconds << 5 | digit;
    }
    if (milliseconds > ulid_milliseconds_max) return std::nullopt;
    return Instant{std::chrono::milliseconds{milliseconds}};
}

UlidGenerator::UlidGenerator(const Clock& clock, Random& random) : clock_(clock), random_(random) {}

std::string UlidGenerator::next() {
    const std::uint64_t now = milliseconds_since_epoch(clock_.now());
    const MutexLock lock(mutex_);
    advance(now);
    return encode_ulid(last_);
}

void UlidGenerator::advance(std::uint64_t now_milliseconds) {
    if (now_milliseconds > last_.milliseconds) {
        last_.milliseconds = now_milliseconds;
        draw_random_part();
        return;
    }
    // Steps of 48 bits: room for about four billion ULIDs in one millisecond.
    const std::uint64_t step = (random_.next() >> 16) + 1;
    last_.random_low += step;
    const bool carry = last_.random_low < step;
    if (carry && ++last_.random_high == 0) {
        ++last_.milliseconds;
        draw_random_part();
    }
}

void UlidGenerator::draw_random_part() {
    last_.random_high = static_cast<std::uint16_t>(random_.next() >> 48);
    last_.random_low = random_.next();
}

}  // namespace postroom::base
