// What a terminal can show: how much of a line, and colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace postroom::cli {

// The columns of the terminal that `descriptor` leads to; nullopt: it leads to none.
std::optional<std::size_t> terminal_width(int descriptor);

// Its lines.
std::size_t terminal_height(int descriptor);

// Whether colours may go to `descriptor`: it leads to a terminal that knows them, and the user has
// not said NO_COLOR.
bool takes_colors(int descriptor);

enum class Color : std::uint8_t { none, red, green, yellow, cyan };

std::string in_color(Color color, std::string_view text);

}  // namespace postroom::cli
