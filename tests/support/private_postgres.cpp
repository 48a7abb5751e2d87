#include "support/private_postgres.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "support/server_script.hpp"

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

PrivatePostgres::PrivatePostgres(Durability durability) {
    try {
        run_script("start", {durability == Durability::durable ? "durable" : "fast",
                             std::to_string(::getpid())});
    } catch (...) {
        // The destructor will not run; what a failed start has left goes here.
        try {
            run_script("stop");
        } catch (const std::exception& error) {
            std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
        }
        throw;
    }
}

PrivatePostgres::~PrivatePostgres() {
    try {
        run_script("stop");
    } catch (const std::exception& error) {
        std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
    }
}

void PrivatePostgres::crash() { run_script("crash"); }

void PrivatePostgres::resume() { run_script("resume"); }

void PrivatePostgres::crash_restart() {
    crash();
    resume();
}

void PrivatePostgres::kill_backend(pid_t pid, int signal) {
    pid_t postmaster = 0;
    std::ifstream(directory_ / "postgres/pid") >> postmaster;
    if (postmaster == 0 || parent_of(pid) != postmaster) {
        throw std::runtime_error(fmt::format("process {} is not one of this server", pid));
    }
    if (::kill(pid, signal) != 0) {
        throw std::system_error(errno, std::generic_category(), fmt::format("kill {}", pid));
    }
}

void PrivatePostgres::run_script(const std::string& action,
                                 const std::vector<std::string>& further_arguments) {
    std::vector<std::string> arguments{action, (directory_ / "postgres").string()};
    arguments.insert(arguments.end(), further_arguments.begin(), further_arguments.end());
    run_server_script("postgres.sh", arguments);
}

}  // namespace postroom::test
