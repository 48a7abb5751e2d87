#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "suite/engines/engine.hpp"

namespace bench {
namespace {

// To the nanosecond, where /proc counts in hundredths of a second.
double running_cpu(long pid) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0 ||
        ::clock_gettime(clock, &time) != 0)
        return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Those that the process has waited for.
double ended_children_cpu(long pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(file, text)) return 0;
    // The second field is the name in parentheses and may hold anything: read on behind it, where
    // the third field begins.
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    std::string skipped;
    for (int field = 3; field < 16; ++field) fields >> skipped;
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

double process_cpu(long pid, bool with_ended_children) {
    return running_cpu(pid) + (with_ended_children ? ended_children_cpu(pid) : 0);
}

double children_cpu(long pid) {
    const std::string id = std::to_string(pid);
    std::ifstream file("/proc/" + id + "/task/" + id + "/children");
    double seconds = 0;
    for (long child = 0; file >> child;) seconds += running_cpu(child);
    return seconds;
}

}  // namespace bench
