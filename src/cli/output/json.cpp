#include "cli/output/json.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/utf8.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

std::string json_string(std::string_view text) {
    std::string out;
    base::append_json_string(
        out, base::is_valid_utf8(text) ? std::string(text) : base::sanitize_utf8(text));
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

JsonObject& JsonObject::add(std::string_view key, Instant value) {
    return add(key, format_time(value));
}

JsonArray& JsonArray::add_json(std::string_view value) {
    if (text_.size() > 1) text_ += ',';
    text_ += value;
    return *this;
}

}  // namespace postroom::cli
