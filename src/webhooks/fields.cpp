#include "webhooks/fields.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace postroom::webhooks {

namespace {

constexpr std::size_t message_id_chars_max = 255;
// The year 33658; more would not fit an Instant.
constexpr std::size_t seconds_digits_max = 12;

char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

FieldResult find_header(std::span<const HeaderView> headers, std::string_view name,
                        std::size_t bytes_max) {
    FieldResult result;
    for (const HeaderView& header : headers) {
        if (!same_name(header.name, name)) continue;
        if (header.value.size() > bytes_max) return {Authenticity::header_too_large};
        if (result.authenticity == Authenticity::ok) return {Authenticity::malformed};
        result = {Authenticity::ok, header.value};
    }
    if (result.authenticity == Authenticity::ok && result.value.empty())
        return {Authenticity::missing_header};
    return result;
}

std::optional<std::chrono::sys_seconds> parse_seconds(std::string_view text) {
    if (text.empty() || text.size() > seconds_digits_max) return std::nullopt;
    if (!std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
    if (text.size() > 1 && text.front() == '0') return std::nullopt;
    std::int64_t seconds = 0;
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

std::string seconds_text(std::chrono::sys_seconds time) {
    return std::to_string(time.time_since_epoch().count());
}

bool is_version(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '_';
    });
}

bool is_message_id(std::string_view text) {
    return !text.empty() && text.size() <= message_id_chars_max &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return c > ' ' && c <= '~' && c != '.'; });
}

std::string_view next_element(std::optional<std::string_view>& rest, char separator) {
    const std::size_t end = rest->find(separator);
    const std::string_view element = rest->substr(0, end);
    if (end == std::string_view::npos) {
        rest.reset();
    } else {
        rest->remove_prefix(end + 1);
    }
    return element;
}

}  // namespace postroom::webhooks
