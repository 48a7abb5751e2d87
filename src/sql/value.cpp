#include "sql/value.hpp"

#include <fmt/format.h>

#include "postroom/error.hpp"

namespace postroom::sql {

const Value& Params::at(std::string_view name) const {
    for (const auto& [key, value] : values_) {
        if (key == name) return value;
    }
    throw Error(ErrorKind::misuse, fmt::format("statement parameter :{} was not set", name));
}

}  // namespace postroom::sql
