#include "sql/value.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "postroom/error.hpp"

namespace postroom::sql {

const Value& Params::at(std::string_view name) const {
    std::size_t place = 0;
    return at(name, place);
}

const Value& Params::at(std::string_view name, std::size_t& place) const {
    if (place < values_.size() && values_[place].first == name) return values_[place].second;
    const auto found = std::find_if(values_.begin(), values_.end(),
                                    [&](const auto& value) { return value.first == name; });
    if (found == values_.end())
        throw Error(ErrorKind::misuse, fmt::format("statement parameter :{} was not set", name));
    place = static_cast<std::size_t>(found - values_.begin());
    return found->second;
}

}  // namespace postroom::sql
