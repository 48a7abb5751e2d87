// read_source_file: what stands in a file of the source tree, for tests that compare a page with
// the code.
#pragma once

#include <string>

namespace postroom::test {

// `name` is relative to the top of the tree. Throws std::runtime_error when there is no such file.
std::string read_source_file(const std::string& name);

}  // namespace postroom::test
