// A map of texts as a JSON object, and back: how headers are stored. And arrays, read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postroom::base {

// Keys and values must be valid UTF-8; control characters are escaped.
std::string to_json(const std::map<std::string, std::string>& map);

// Reads any JSON object. Values that are not strings (numbers, true, nested ones: a foreign
// writer's) are kept as their JSON text; null as the empty text. nullopt when `json` is not an
// object.
std::optional<std::map<std::string, std::string>> map_from_json(std::string_view json);

// The elements of any JSON array, as map_from_json() keeps values. nullopt when `json` is not an
// array.
std::optional<std::vector<std::string>> array_from_json(std::string_view json);

}  // namespace postroom::base
