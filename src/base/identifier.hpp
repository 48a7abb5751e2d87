// Identifier: a name that may stand in SQL text.
//
// Schema and table names come from configuration and cannot be bound as parameters. Only letters,
// digits and underscores pass, the first no digit, at most 48 characters: with that no quoting rule
// of any database matters, and our suffixes fit into PostgreSQL's 63 bytes.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

namespace postroom::base {

inline constexpr std::size_t identifier_length_max = 48;

class Identifier {
public:
    // Throws std::invalid_argument that names `field`, the value and the rule.
    Identifier(std::string_view field, std::string_view value);

    const std::string& str() const { return value_; }

    friend bool operator==(const Identifier&, const Identifier&) = default;
    friend auto operator<=>(const Identifier&, const Identifier&) = default;

private:
    std::string value_;
};

}  // namespace postroom::base
