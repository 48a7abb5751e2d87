#include "cli/output/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

constexpr std::chrono::milliseconds pause{200};

}  // namespace

bool Progress::visible() { return ::isatty(STDERR_FILENO) != 0; }

Progress::Progress(std::string what, std::optional<std::uint64_t> total)
    : what_(std::move(what)),
      total_(total),
      shown_(visible()),
      begun_(std::chrono::steady_clock::now()),
      told_(begun_) {}

Progress::~Progress() {
    if (dirty_) std::fputs("\r\033[K", stderr);
}

void Progress::at(std::uint64_t done, std::optional<double> part) {
    const Time now = std::chrono::steady_clock::now();
    if (!shown_ || now - told_ < pause) return;
    told_ = now;
    dirty_ = true;
    const double seconds = std::chrono::duration<double>(now - begun_).count();
    const double rate = static_cast<double>(done) / seconds;
    std::string line = fmt::format("\r\033[K{} {}", done, what_);
    if (total_) line += fmt::format(" of {}", *total_);
    line += fmt::format(", {:.0f}/s", rate);
    if (total_ && *total_ > 0) part = static_cast<double>(done) / static_cast<double>(*total_);
    if (part && *part > 0 && *part < 1) {
        const auto left = static_cast<std::int64_t>(seconds / *part * (1 - *part));
        line += fmt::format(", {} left", format_duration(std::chrono::seconds{left}));
    }
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
}

}  // namespace postroom::cli
