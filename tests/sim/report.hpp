// Report: what a run tells: its trace when asked for, the first invariant that broke, and a digest
// by which two runs of one seed are compared.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "postroom/clock.hpp"

namespace postroom::sim {

class Report {
public:
    Report(const Clock& clock, bool trace) : clock_(clock), start_(clock.now()), trace_(trace) {}

    template <class... Arguments>
    void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
        if (!trace_) return;
        fmt::print("{:12.3f} ms  {}\n", elapsed_ms(),
                   fmt::format(text, std::forward<Arguments>(arguments)...));
        std::fflush(stdout);
    }

    // The first one counts; the run ends soon after.
    void violate(const std::string& invariant) {
        if (!violation_.empty()) return;
        violation_ = fmt::format("at {:.3f} ms: {}", elapsed_ms(), invariant);
        say("VIOLATED {}", invariant);
    }
    bool violated() const { return !violation_.empty(); }
    const std::string& violation() const { return violation_; }

    void count(std::uint64_t what) {
        digest_ =
            (digest_ ^ what ^ static_cast<std::uint64_t>(clock_.now().time_since_epoch().count())) *
            0x100000001b3U;
    }
    std::uint64_t digest() const { return digest_; }

private:
    double elapsed_ms() const { return static_cast<double>((clock_.now() - start_).count()) / 1e3; }

    const Clock& clock_;
    const Instant start_;
    const bool trace_;
    std::string violation_;
    std::uint64_t digest_ = 0xcbf29ce484222325U;
};

}  // namespace postroom::sim
