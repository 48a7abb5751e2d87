// The first minute with postroom: a shop on SQLite places orders, `postroom relay` delivers them
// over HTTP, and the receiver ships each order once, whatever happens in between.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "cli/interrupt.hpp"

namespace postroom::cli::demo {

struct Summary {
    std::size_t placed = 0;
    std::size_t rolled_back = 0;
    std::size_t delivered = 0;
    std::size_t duplicates = 0;  // suppressed by the receiver's inbox
    std::size_t dead = 0;
    std::size_t lost = 0;
    bool each_once = false;  // what was delivered was shipped once
    bool good = false;       // everything went as it was told
};

struct Stage {
    std::string folder;   // where everything lies; relay.log too
    std::string program;  // the path of postroom
    std::function<void(std::string_view)> tell;
    std::function<void(const Summary&)> show;
    int output = -1;  // descriptor that the commands shown write to
    // Says where the dashboard is, goes slowly enough to be watched on it, and keeps everything
    // running afterwards until it is interrupted.
    bool open = false;
};

// Takes about ten seconds, open a minute, and throws when it takes six times as long. Throws
// Failure when interrupted before its end.
Summary tell_story(const Stage& stage, const Interrupt& interrupt);

}  // namespace postroom::cli::demo
