#include "postroom/open_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include <stdexcept>
#include <string_view>
#include <vector>

#include "backend_table.hpp"

namespace postroom {

namespace {

using backends::backend_table;
using backends::BackendEntry;

constexpr std::size_t scheme_chars_max = 16;

// Only the scheme may be shown in an error: the rest of a URL can hold a password, and so can what
// is no URL at all.
std::string_view scheme_of(std::string_view url) {
    const std::string_view scheme = url.substr(0, std::min(url.find(':'), url.size()));
    const bool named = !scheme.empty() && scheme.size() < url.size() &&
                       scheme.size() <= scheme_chars_max && std::ranges::all_of(scheme, [](char c) {
                           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+';
                       });
    if (!named) throw std::invalid_argument("url: does not begin with a scheme and a colon");
    return scheme;
}

std::vector<std::string_view> known_schemes() {
    std::vector<std::string_view> schemes;
    for (const BackendEntry& entry : backend_table) schemes.push_back(entry.scheme);
    return schemes;
}

const BackendEntry& backend_for(std::string_view url) {
    const std::string_view scheme = scheme_of(url);
    for (const BackendEntry& entry : backend_table) {
        if (entry.scheme == scheme) return entry;
    }
    throw std::invalid_argument(fmt::format("url: unknown scheme '{}'; known: {}", scheme,
                                            fmt::join(known_schemes(), ", ")));
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& url, const OpenOptions& options) {
    return backend_for(url).open_url(url, options);
}

std::unique_ptr<Schema> open_schema(const std::string& url, const OpenOptions& options) {
    return backend_for(url).open_schema_url(url, options);
}

}  // namespace postroom
