#include "base/json_writer.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/rfc3339.hpp"

namespace postroom::base {

std::string json_string(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

JsonObject& JsonObject::add_json(std::string_view key, std::string_view value) {
    if (text_.size() > 1) text_ += ',';
    text_ += json_string(key);
    text_ += ':';
    text_ += value;
    return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::string_view value) {
    return add_json(key, json_string(value));
}

JsonObject& JsonObject::add(std::string_view key, std::uint64_t value) {
    return add_json(key, fmt::format("{}", value));
}

JsonObject& JsonObject::add(std::string_view key, std::int64_t value) {
    return add_json(key, fmt::format("{}", value));
}

JsonObject& JsonObject::add(std::string_view key, bool value) {
    return add_json(key, value ? "true" : "false");
}

JsonObject& JsonObject::add(std::string_view key, double value) {
    return add_json(key, fmt::format("{:.9g}", value));
}

JsonObject& JsonObject::add(std::string_view key, Instant value) {
    return add(key, rfc3339_milliseconds(value));
}

JsonArray& JsonArray::add_json(std::string_view value) {
    if (text_.size() > 1) text_ += ',';
    text_ += value;
    return *this;
}

}  // namespace postroom::base
