// ChildProcess: another program under the control of a test, to be fed, read, frozen and killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postroom::test {

// How a process ended: by exit() or by a signal; exactly one of the two is set.
struct ExitStatus {
    std::optional<int> code;
    std::optional<int> signal;

    bool success() const { return code == 0; }
    bool operator==(const ExitStatus&) const = default;
};

struct ChildOptions {
    std::filesystem::path program;                        // A path; $PATH is not searched.
    std::vector<std::string> arguments = {};              // Without the program's name.
    std::map<std::string, std::string> environment = {};  // On top of this process's own.
    bool merge_stderr = false;  // Into standard output; else stderr is shared.
};

// Starts the program in the constructor; the destructor kills it with SIGKILL and reaps it, so that
// no test leaves a process behind. The child is also killed when the thread that started it ends,
// which covers a test program that crashes: start long-lived children from the test's own thread.
//
// Thread safety: one thread at a time.
class ChildProcess {
public:
    // Throws std::system_error when the program cannot be executed.
    explicit ChildProcess(const ChildOptions& options);
    ~ChildProcess();
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ChildProcess& operator=(ChildProcess&&) = delete;

    pid_t pid() const { return pid_; }

    // The next line of standard output without its line end. Nothing when `timeout` passes first or
    // the output is at its end; a last line without line end counts as a line.
    std::optional<std::string> read_line(std::chrono::milliseconds timeout);

    // All output up to its end, or up to where it is when `timeout` has passed.
    std::string read_all(std::chrono::milliseconds timeout);

    // Writes `line` and a line end to standard input. Throws std::system_error when the child has
    // closed it.
    void write_line(std::string_view line);
    void close_input();

    // Sends `signal`; does nothing once the child has been reaped.
    void kill(int signal);

    // Whether it has not ended yet; a stopped (SIGSTOP) process runs.
    bool running();

    // How it ended, or nothing when it still runs after `timeout`. Output that arrives meanwhile is
    // kept for read_line, so a child cannot block on a full pipe.
    std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);

private:
    bool reap();
    bool fill(std::chrono::milliseconds timeout);
    std::optional<std::string> take_line();

    pid_t pid_ = -1;
    int input_ = -1;
    int output_ = -1;  // -1 after the end of the output.
    std::string unread_;
    std::optional<ExitStatus> status_;
};

// The path of a program of this build: in the build's program directory, or beside the running
// test. Throws std::runtime_error with the places looked at.
std::filesystem::path program_path(std::string_view name);

}  // namespace postroom::test
