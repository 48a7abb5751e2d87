// What the {tokens} of SQLite's texts stand for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sql/expander.hpp"

namespace postroom::sqlite {

sql::Vocabulary vocabulary();

// The fields of `set`, each as `before` and its name, but for those that `replaced` has a text for.
using FieldText = std::pair<std::string_view, std::string_view>;
std::string fields_with(FieldSet set, std::string_view before, std::span<const FieldText> replaced);

}  // namespace postroom::sqlite
