// The pages in docs/, for tests that do what these say.
#pragma once

#include <string>
#include <vector>

namespace postroom::test {

// The blocks of SQL in the section `heading` of the page docs/`name`, in their order. Throws
// std::runtime_error when there is no such section.
std::vector<std::string> sql_blocks(const std::string& name, const std::string& heading);

}  // namespace postroom::test
