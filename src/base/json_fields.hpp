// JSON, read: the members of one object with the text of each value as it was written, or the
// elements of an array.
//
// A payload must reach the receiver to the byte: numbers beyond 2^53, 1.10 and the order of keys
// are kept because nothing is parsed and written again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace postroom::base {

enum class JsonKind { object, array, string, number, boolean, null };

struct JsonField {
    std::string key;
    JsonKind kind{};
    std::string json;  // the value as written
    std::string text;  // a string's characters; else as `json`
};

// Throws std::invalid_argument saying what is wrong and at which character, never quoting any of
// it.
std::vector<JsonField> json_fields(std::string_view text);

// The elements of one array, each as written. Throws as json_fields().
std::vector<std::string> json_elements(std::string_view text);

// The strings of one array of strings. Throws as json_fields().
std::vector<std::string> json_strings(std::string_view text);

}  // namespace postroom::base
