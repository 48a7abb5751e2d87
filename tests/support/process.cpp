#include "support/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace postroom::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

[[noreturn]] void throw_errno(int code, const std::string& what) {
    throw std::system_error(code, std::generic_category(), what);
}

void close_and_forget(int& descriptor) {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
}

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno(errno, "pipe2");
        read_end = ends[0];
        write_end = ends[1];
    }
    ~Pipe() {
        close_and_forget(read_end);
        close_and_forget(write_end);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int read_end = -1;
    int write_end = -1;
};

// "name=value" entries of this process, with those of `changes` replaced or added.
std::vector<std::string> merged_environment(const std::map<std::string, std::string>& changes) {
    std::vector<std::string> entries;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (!changes.contains(std::string(text.substr(0, text.find('='))))) {
            entries.emplace_back(text);
        }
    }
    for (const auto& [name, value] : changes) entries.push_back(fmt::format("{}={}", name, value));
    return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// Everything the child needs between fork and exec, made before the fork: another thread may hold
// the allocator's lock at that moment, so the child may only make plain system calls.
struct Launch {
    const char* program;
    char** arguments;
    char** environment;
    int input;
    int output;
    int failure;
    bool merge_stderr;
    pid_t parent;
};

[[noreturn]] void run_child(const Launch& launch) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launch.parent) ::_exit(127);  // It ended before the line above.
    ::dup2(launch.input, STDIN_FILENO);
    ::dup2(launch.output, STDOUT_FILENO);
    if (launch.merge_stderr) ::dup2(launch.output, STDERR_FILENO);
    ::execve(launch.program, launch.arguments, launch.environment);
    const int code = errno;
    // If even this fails, the parent sees a child that ended with 127.
    [[maybe_unused]] const ssize_t written = ::write(launch.failure, &code, sizeof code);
    ::_exit(127);
}

ExitStatus to_exit_status(int raw) {
    if (WIFSIGNALED(raw)) return {.code = std::nullopt, .signal = WTERMSIG(raw)};
    return {.code = WEXITSTATUS(raw), .signal = std::nullopt};
}

milliseconds left_until(Clock::time_point deadline) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    return std::max(left, milliseconds(0));
}

}  // namespace

ChildProcess::ChildProcess(const ChildOptions& options) {
    const std::string program = options.program.string();
    std::vector<std::string> arguments{program};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    std::vector<std::string> environment = merged_environment(options.environment);
    std::vector<char*> argument_pointers = pointers_to(arguments);
    std::vector<char*> environment_pointers = pointers_to(environment);
    Pipe input;
    Pipe output;
    Pipe failure;

    const Launch launch{.program = program.c_str(),
                        .arguments = argument_pointers.data(),
                        .environment = environment_pointers.data(),
                        .input = input.read_end,
                        .output = output.write_end,
                        .failure = failure.write_end,
                        .merge_stderr = options.merge_stderr,
                        .parent = ::getpid()};
    pid_ = ::fork();
    if (pid_ < 0) throw_errno(errno, "fork");
    if (pid_ == 0) run_child(launch);

    // A successful exec closes the pipe without a word.
    close_and_forget(failure.write_end);
    int code = 0;
    ssize_t got = 0;
    do {
        got = ::read(failure.read_end, &code, sizeof code);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        ::waitpid(pid_, nullptr, 0);
        throw_errno(code, "cannot execute " + program);
    }
    input_ = std::exchange(input.write_end, -1);
    output_ = std::exchange(output.read_end, -1);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      unread_(std::move(other.unread_)),
      status_(std::exchange(other.status_, std::nullopt)) {}

ChildProcess::~ChildProcess() {
    if (pid_ > 0 && !status_) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    close_and_forget(input_);
    close_and_forget(output_);
}

// Reads what is there or arrives within `timeout`; false when nothing came.
bool ChildProcess::fill(milliseconds timeout) {
    if (output_ < 0) return false;
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, static_cast<int>(timeout.count()));
    if (count < 0 && errno != EINTR) throw_errno(errno, "poll");
    if (count <= 0) return false;
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(output_, buffer.data(), buffer.size());
    if (got < 0) throw_errno(errno, "read from child");
    if (got == 0) {
        close_and_forget(output_);
        return false;
    }
    unread_.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
}

std::optional<std::string> ChildProcess::take_line() {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
        std::string line = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        return line;
    }
    if (output_ < 0 && !unread_.empty()) return std::exchange(unread_, {});
    return std::nullopt;
}

std::optional<std::string> ChildProcess::read_line(milliseconds timeout) {
    const auto deadline = Clock::now() + timeout;
    for (;;) {
        if (std::optional<std::string> line = take_line()) return line;
        if (output_ < 0) return std::nullopt;
        const milliseconds left = left_until(deadline);
        fill(left);
        if (left.count() == 0) return take_line();
    }
}

std::string ChildProcess::read_all(milliseconds timeout) {
    const auto deadline = Clock::now() + timeout;
    while (output_ >= 0) {
        const milliseconds left = left_until(deadline);
        if (!fill(left) && left.count() == 0) break;
    }
    return std::exchange(unread_, {});
}

void ChildProcess::write_line(std::string_view line) {
    const std::string text = std::string(line) + '\n';
    // A child that is gone must fail the call, not end the test program with SIGPIPE.
    const auto previous = ::signal(SIGPIPE, SIG_IGN);
    std::size_t sent = 0;
    int code = 0;
    while (sent < text.size() && code == 0) {
        const ssize_t count = ::write(input_, text.data() + sent, text.size() - sent);
        if (count >= 0) {
            sent += static_cast<std::size_t>(count);
        } else if (errno != EINTR) {
            code = errno;
        }
    }
    ::signal(SIGPIPE, previous);
    if (code != 0) throw_errno(code, fmt::format("write to child {}", pid_));
}

void ChildProcess::close_input() { close_and_forget(input_); }

void ChildProcess::kill(int signal) {
    if (pid_ <= 0 || status_) return;
    if (::kill(pid_, signal) != 0) throw_errno(errno, fmt::format("kill {}", pid_));
}

bool ChildProcess::reap() {
    if (status_) return true;
    int raw = 0;
    const pid_t got = ::waitpid(pid_, &raw, WNOHANG);
    if (got < 0 && errno != EINTR) throw_errno(errno, fmt::format("waitpid {}", pid_));
    if (got == pid_) status_ = to_exit_status(raw);
    return status_.has_value();
}

bool ChildProcess::running() { return !reap(); }

std::optional<ExitStatus> ChildProcess::wait(milliseconds timeout) {
    const auto deadline = Clock::now() + timeout;
    constexpr milliseconds step(2);
    while (!reap() && Clock::now() < deadline) {
        if (output_ >= 0) {
            fill(step);
        } else {
            ::poll(nullptr, 0, static_cast<int>(step.count()));
        }
    }
    return status_;
}

std::filesystem::path program_path(std::string_view name) {
    std::vector<std::filesystem::path> places;
#ifdef POSTROOM_TEST_CHILDREN
    places.emplace_back(POSTROOM_TEST_CHILDREN);
#endif
    places.push_back(std::filesystem::read_symlink("/proc/self/exe").parent_path());
    std::string looked_at;
    for (const std::filesystem::path& place : places) {
        std::filesystem::path candidate = place / name;
        if (::access(candidate.c_str(), X_OK) == 0) return candidate;
        looked_at += " " + candidate.string();
    }
    throw std::runtime_error(fmt::format("no program '{}'; looked at:{}", name, looked_at));
}

}  // namespace postroom::test
