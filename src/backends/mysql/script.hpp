// Scripts of several statements, as the command line clients read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace postroom::mysql {

// The statements of a script without their delimiters. A statement ends with the line that ends
// with the delimiter: ";" at first, then whatever a line "DELIMITER x" names. The server never sees
// those lines, nor statements that are nothing but comments.
std::vector<std::string> split_script(std::string_view script);

}  // namespace postroom::mysql
