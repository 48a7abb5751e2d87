// The settings of a sink as an input: lines of "name=value". A line that names none is the value of
// the first setting, its URL.
#pragma once

#include "fuzz.hpp"
#include "postroom/sink.hpp"

namespace postroom::fuzz {

inline SinkConfig config_of(std::string_view rest, const std::string& first) {
    SinkConfig config{.name = "fuzz", .type = "fuzz"};
    while (!rest.empty()) {
        std::string_view value = cut(rest, '\n');
        const std::string_view line = value;
        const std::string name(cut(value, '='));
        const bool is_first = name.find(':') != std::string::npos;
        // Paths are only looked at, but a fuzzer's are better not even that.
        if (name.find("file") != std::string::npos || name.starts_with("client_")) continue;
        config.settings[is_first ? first : name] = is_first ? line : value;
    }
    return config;
}

}  // namespace postroom::fuzz
