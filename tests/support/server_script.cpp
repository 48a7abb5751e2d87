#include "support/server_script.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <stdexcept>

#include "support/process.hpp"

namespace postroom::test {

void run_server_script(const std::string& script, const std::vector<std::string>& arguments) {
    // Longer than the limits inside the scripts, so that their own message arrives first.
    constexpr std::chrono::seconds timeout(300);
    ChildProcess child({.program = POSTROOM_SOURCE_DIR "/tests/servers/" + script,
                        .arguments = arguments,
                        .merge_stderr = true});
    const std::optional<ExitStatus> status = child.wait(timeout);
    if (!status || !status->success()) {
        throw std::runtime_error(fmt::format("{} {} failed: {}", script, arguments.at(0),
                                             child.read_all(std::chrono::seconds(1))));
    }
}

}  // namespace postroom::test
