#include "suite/machine.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <thread>

namespace bench {
namespace {

std::string first_value(const char* path, const std::string& key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(key, 0) != 0) continue;
        const std::size_t from = line.find_first_not_of(" \t:=\"", key.size());
        return from == std::string::npos ? ""
                                         : line.substr(from, line.find_last_not_of('"') + 1 - from);
    }
    return "unknown";
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts)};
}

std::string load_average() {
    std::ifstream file("/proc/loadavg");
    std::string one;
    file >> one;
    return one;
}

}  // namespace

std::map<std::string, std::string> describe_machine() {
    struct utsname system {};
    ::uname(&system);
    return {
        {"taken_at", today()},
        {"processor", first_value("/proc/cpuinfo", "model name")},
        {"processors", std::to_string(std::thread::hardware_concurrency())},
        {"memory", first_value("/proc/meminfo", "MemTotal")},
        {"system", first_value("/etc/os-release", "PRETTY_NAME") + ", " + system.sysname + " " +
                       system.release},
        {"load_at_start", load_average()},
    };
}

}  // namespace bench
