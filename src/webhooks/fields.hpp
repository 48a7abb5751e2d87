// The parts of signature headers, read strictly: what two readers could take differently is
// refused.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/webhooks.hpp"

namespace postroom::webhooks {

// A header's value, or why there is none: missing_header, malformed (there twice) or
// header_too_large.
struct FieldResult {
    Authenticity authenticity = Authenticity::missing_header;
    std::string_view value{};
};
FieldResult find_header(std::span<const HeaderView> headers, std::string_view name,
                        std::size_t bytes_max);

// Seconds since 1970, in decimal digits without sign and leading zeros.
std::optional<std::chrono::sys_seconds> parse_seconds(std::string_view text);
std::string seconds_text(std::chrono::sys_seconds time);

// A token of letters, digits and underscores, as versions are.
bool is_version(std::string_view text);

// 1 to 255 visible ASCII characters without '.'.
bool is_message_id(std::string_view text);

// Cuts off and returns what stands before the next `separator`; at the end `rest` is nullopt.
std::string_view next_element(std::optional<std::string_view>& rest, char separator);

}  // namespace postroom::webhooks
