// run_server_script: one call of a script in tests/servers/.
#pragma once

#include <string>
#include <vector>

namespace postroom::test {

// Runs tests/servers/`script` with `arguments`. Throws std::runtime_error with its output when it
// fails or does not end.
void run_server_script(const std::string& script, const std::vector<std::string>& arguments);

}  // namespace postroom::test
