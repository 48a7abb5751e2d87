#include "cli/demo/relay_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace postroom::cli::demo {

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

// Ours without what would lead the program to another config or database than the folder's.
std::vector<std::string> environment() {
    std::vector<std::string> kept;
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (!std::string_view(*variable).starts_with("POSTROOM_")) kept.emplace_back(*variable);
    return kept;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

RelayProcess::RelayProcess(std::string program, std::string folder)
    : program_(std::move(program)), folder_(std::move(folder)) {}

RelayProcess::~RelayProcess() { kill(); }

pid_t RelayProcess::spawn(std::vector<std::string> words, const Outputs& outputs) const {
    words.insert(words.begin(), program_);
    std::vector<std::string> variables = environment();
    const std::vector<char*> argv = pointers_to(words);
    const std::vector<char*> envp = pointers_to(variables);
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child > 0) return child;
    // Only what is safe in a child of a program with threads.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);  // Ctrl-C on the terminal is for us, who stop it
    if (::chdir(folder_.c_str()) != 0) ::_exit(126);
    ::dup2(outputs.out, STDOUT_FILENO);
    ::dup2(outputs.err, STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
}

void RelayProcess::start() {
    const std::string path = folder_ + "/relay.log";
    const int log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0) throw std::system_error(errno, std::generic_category(), path);
    relay_ = spawn({"relay"}, {.out = log, .err = log});
    ::close(log);
}

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

bool RelayProcess::run(const std::vector<std::string>& arguments, int output) const {
    return ended_well(spawn(arguments, {.out = output, .err = STDERR_FILENO}));
}

}  // namespace postroom::cli::demo
