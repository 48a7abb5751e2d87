#include "support/private_postgres.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "support/stop_process.hpp"

namespace postroom::test {
namespace {

// The parent of process `pid`; 0 when there is no such process.
pid_t parent_of(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    if (!std::getline(file, text)) return 0;
    // "pid (name) state parent ...", where the name may itself hold blanks and parentheses.
    char state = 0;
    pid_t parent = 0;
    const std::string tail = text.substr(text.rfind(')') + 1);
    return std::sscanf(tail.c_str(), " %c %d", &state, &parent) == 2 ? parent : 0;
}

}  // namespace

pid_t PrivatePostgres::postmaster() const {
    pid_t pid = 0;
    std::ifstream(directory() / "postgres/pid") >> pid;
    if (pid == 0) throw std::runtime_error("the server does not run");
    return pid;
}

// The postmaster first, so that it starts no others meanwhile.
void PrivatePostgres::for_all(const std::function<void(pid_t)>& act) const {
    const pid_t parent = postmaster();
    act(parent);
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const pid_t pid = std::atoi(entry.path().filename().c_str());
        if (pid > 0 && parent_of(pid) == parent) act(pid);
    }
}

void PrivatePostgres::freeze() { for_all(stop_process); }

void PrivatePostgres::thaw() {
    for_all([](pid_t pid) { ::kill(pid, SIGCONT); });
}

void PrivatePostgres::kill_backend(pid_t pid, int signal) {
    if (parent_of(pid) != postmaster()) {
        throw std::runtime_error(fmt::format("process {} is not one of this server", pid));
    }
    if (::kill(pid, signal) != 0) {
        throw std::system_error(errno, std::generic_category(), fmt::format("kill {}", pid));
    }
}

}  // namespace postroom::test
