#include "postroom/open_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string_view>
#include <vector>

#include "backend_table.hpp"

namespace postroom {

namespace {

using backends::backend_table;
using backends::BackendEntry;

// Only the scheme may be shown in an error: the rest of a URL can hold a password.
std::string_view scheme_of(std::string_view url) {
    const std::size_t colon = url.find(':');
    if (colon == std::string_view::npos || colon == 0) {
        throw std::invalid_argument("url: does not begin with a scheme and a colon");
    }
    return url.substr(0, colon);
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
