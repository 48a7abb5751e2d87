// The URL of an SQLite file.
#pragma once

#include <string>
#include <string_view>

namespace postroom::sqlite {

// "sqlite:shop.db" and "sqlite:/var/lib/shop.db"; with an authority part, which must be empty,
// "sqlite:///var/lib/shop.db". Throws std::invalid_argument; its text repeats nothing of the URL.
std::string path_of(std::string_view url);

}  // namespace postroom::sqlite
