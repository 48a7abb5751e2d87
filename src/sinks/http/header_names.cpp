#include "sinks/http/header_names.hpp"

#include <algorithm>
#include <array>

#include "sinks/http/visible.hpp"

namespace postroom::sink_http {

bool is_token(std::string_view name) {
    constexpr std::string_view separators = "()<>@,;:\\\"/[]?={}";
    return !name.empty() && is_visible_ascii(name) &&
           name.find_first_of(separators) == std::string_view::npos;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    return out;
}

bool is_reserved(std::string_view name) {
    static constexpr std::array names = {
        "authorization", "connection", "cookie",   "expect",  "host",
        "keep-alive",    "te",         "trailer",  "upgrade", "transfer-encoding",
        "user-agent",    "accept",     "forwarded"};
    static constexpr std::array prefixes = {"ce-",    "webhook-",     "content-",
                                            "proxy-", "x-forwarded-", "postroom-"};
    const std::string low = lower(name);
    return std::ranges::find(names, low) != names.end() ||
           std::ranges::any_of(prefixes, [&low](const char* p) { return low.starts_with(p); });
}

bool is_header_value(std::string_view value) {
    return std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string_view without_spaces(std::string_view text) {
    constexpr std::string_view spaces = " \t\r";
    const std::size_t begin = text.find_first_not_of(spaces);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

}  // namespace postroom::sink_http
