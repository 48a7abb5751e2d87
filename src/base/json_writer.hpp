// JSON, written: objects and arrays that keep the order in which they are filled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postroom/clock.hpp"

namespace postroom::base {

// Ill-formed UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

class JsonObject {
public:
    // The text of a JSON value.
    JsonObject& add_json(std::string_view key, std::string_view value);
    JsonObject& add(std::string_view key, std::string_view value);
    JsonObject& add(std::string_view key, const char* value) {
        return add(key, std::string_view(value));
    }
    JsonObject& add(std::string_view key, std::uint64_t value);
    JsonObject& add(std::string_view key, std::int64_t value);
    JsonObject& add(std::string_view key, int value) { return add(key, std::int64_t{value}); }
    JsonObject& add(std::string_view key, std::uint32_t value) {
        return add(key, std::uint64_t{value});
    }
    JsonObject& add(std::string_view key, bool value);
    // Must be finite.
    JsonObject& add(std::string_view key, double value);
    // With milliseconds.
    JsonObject& add(std::string_view key, Instant value);
    // Left out when there is none.
    template <class T>
    JsonObject& add(std::string_view key, const std::optional<T>& value) {
        return value ? add(key, *value) : *this;
    }
    // Left out when it is empty.
    JsonObject& add_text(std::string_view key, std::string_view value) {
        return value.empty() ? *this : add(key, value);
    }

    std::string text() const { return text_ + "}"; }

private:
    std::string text_ = "{";
};

class JsonArray {
public:
    JsonArray& add_json(std::string_view value);
    JsonArray& add(std::string_view value) { return add_json(json_string(value)); }
    std::string text() const { return text_ + "]"; }

private:
    std::string text_ = "[";
};

}  // namespace postroom::base
