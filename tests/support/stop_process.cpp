#include "support/stop_process.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

// "number (name) state ...", where the name may itself hold blanks and parentheses.
bool moves(const std::filesystem::path& thread) {
    std::string text;
    if (!std::getline(std::ifstream(thread / "stat"), text)) return false;
    const char state = text.at(text.rfind(')') + 2);
    return state != 'T' && state != 'Z' && state != 'X';
}

bool stands_still(pid_t pid) {
    std::error_code gone;
    for (const auto& thread :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
        if (moves(thread.path())) return false;
    }
    return true;
}

}  // namespace

void stop_process(pid_t pid) {
    if (::kill(pid, SIGSTOP) != 0 && errno != ESRCH)
        throw std::system_error(errno, std::generic_category(), fmt::format("kill {}", pid));
    if (!wait_until([&] { return stands_still(pid); }, std::chrono::seconds{30}))
        throw std::runtime_error(fmt::format("process {} does not stop", pid));
}

}  // namespace postroom::test
