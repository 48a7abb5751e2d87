#include "torture/process.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace postroom::torture {

namespace {

using namespace std::chrono_literals;

[[noreturn]] void run(const std::function<int()>& work, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);  // Ctrl-C on the terminal is for the parent, who tidies up
    ::dup2(output, STDOUT_FILENO);
    int code = 1;
    try {
        code = work();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "worker: %s\n", error.what());
    }
    ::_exit(code);
}

}  // namespace

Process::Process(const std::function<int()>& work) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), 0) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(pipe[0]);
        run(work, pipe[1]);
    }
    const int failure = errno;
    ::close(pipe[1]);
    output_ = pipe[0];
    if (pid_ < 0) {
        ::close(output_);
        throw std::system_error(failure, std::generic_category(), "fork");
    }
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      status_(other.status_) {}

Process::~Process() {
    kill();
    if (output_ >= 0) ::close(output_);
}

bool Process::await_ready(Duration patience) const {
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
    char byte = 0;
    return ::poll(&ready, 1, static_cast<int>(milliseconds.count())) == 1 &&
           ::read(output_, &byte, 1) == 1;
}

void Process::reap(bool wait) {
    if (pid_ <= 0) return;
    pid_t ended = -1;
    do {
        ended = ::waitpid(pid_, &status_, wait ? 0 : WNOHANG);
    } while (ended < 0 && errno == EINTR);
    if (ended == pid_) pid_ = -1;
}

bool Process::is_running() {
    reap(false);
    return pid_ > 0;
}

void Process::kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    reap(true);
}

bool Process::ends_well(Duration patience, const std::function<void()>& check) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (is_running()) {
        check();
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(10ms);
    }
    return ended_well();
}

bool Process::ended_well() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

}  // namespace postroom::torture
