// LogLine: `NAME key=value key="another value"`, always a single line.
//
// A value stands as it is when a reader can see where it ends. Otherwise it is quoted, and quotes,
// backslashes and whatever could end or disguise the line are escaped as in JSON: control
// characters, line separators, marks of direction, and what is invisible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postroom/clock.hpp"

namespace postroom {

class LogLine {
public:
    LogLine(std::string name, std::size_t max_value_chars);

    // Ill-formed UTF-8 becomes U+FFFD; longer values are cut.
    LogLine& add(std::string_view key, std::string_view value);
    LogLine& add(std::string_view key, std::uint64_t value);
    // In milliseconds: name the key accordingly.
    LogLine& add(std::string_view key, Duration value);

    const std::string& text() const { return text_; }

private:
    void add_key(std::string_view key);

    const std::size_t max_value_chars_;
    std::string text_;
};

}  // namespace postroom
