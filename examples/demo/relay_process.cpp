#include "relay_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <thread>
#include <utility>

namespace demo {

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 20s;

// Kills a child that does not end by itself.
bool ended_well(pid_t child) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(child, &status, WNOHANG)) != child;) {
        if (ended < 0 && errno != EINTR) return false;
        if (std::chrono::steady_clock::now() >= deadline) ::kill(child, SIGKILL);
        std::this_thread::sleep_for(10ms);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

RelayProcess::RelayProcess(std::string program, std::string folder)
    : program_(std::move(program)), folder_(std::move(folder)) {}

RelayProcess::~RelayProcess() { kill(); }

pid_t RelayProcess::spawn(const std::vector<std::string>& arguments, const char* log) const {
    std::vector<char*> words{const_cast<char*>(program_.c_str())};
    for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child > 0) return child;
    // Only what is safe in a child of a program with threads.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::chdir(folder_.c_str()) != 0) ::_exit(126);
    if (log != nullptr) {
        const int file = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(file, STDERR_FILENO);
        ::dup2(file, STDOUT_FILENO);
    }
    ::execv(words[0], words.data());
    ::_exit(127);
}

void RelayProcess::start() { relay_ = spawn({"relay"}, "relay.log"); }

void RelayProcess::kill() {
    if (relay_ <= 0) return;
    ::kill(relay_, SIGKILL);
    (void)ended_well(std::exchange(relay_, -1));
}

bool RelayProcess::stop() {
    if (relay_ <= 0) return false;
    ::kill(relay_, SIGTERM);
    return ended_well(std::exchange(relay_, -1));
}

bool RelayProcess::run(const std::vector<std::string>& arguments) const {
    return ended_well(spawn(arguments, nullptr));
}

}  // namespace demo
