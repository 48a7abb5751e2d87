// Steps: the statements of a unit as they are written down, with what makes one superfluous.
//
// A statement that does nothing still costs about a microsecond, most of it for opening a table
// with its indexes. The driver leaves out what is known to find nothing; each text must be right
// without that, because a foreign TxContext runs them all.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "sql/dialect.hpp"

namespace postroom::sqlite {

class Steps {
public:
    // Each adds a text and returns its position.
    std::size_t add(std::string_view text);
    // It finds nothing once `done` has changed a row.
    std::size_t add_unless(std::size_t done, std::string_view text);
    // It finds something only after one of `causes` has changed a row.
    std::size_t add_after(const std::vector<std::size_t>& causes, std::string_view text);

    // It finds nothing once `others` have changed so many rows in all as the parameter `ceiling`
    // says.
    std::size_t add_up_to(std::string_view ceiling, const std::vector<std::size_t>& others,
                          std::string_view text);

    sql::UnitText unit(bool separate = false) const;

private:
    std::size_t add(std::string_view text, const std::vector<std::size_t>& others, sql::Skip skip);

    std::vector<std::string> statements_;
    std::vector<sql::Skip> skips_;
};

}  // namespace postroom::sqlite
