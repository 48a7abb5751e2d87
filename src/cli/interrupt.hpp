// Interrupt: Ctrl-C, SIGTERM and SIGHUP as a stop token, for commands that have to tidy up.
//
// To be made before any thread, which then leave these signals to it. A process that such a command
// starts must not expect to be interrupted by them: it has them blocked.
#pragma once

#include <stop_token>
#include <thread>

#include "daemon/relay.hpp"

namespace postroom::cli {

class Interrupt {
public:
    Interrupt();

    std::stop_token token() const { return source_.get_token(); }
    // Throws Interrupted when it has come.
    void check() const;

private:
    const daemon::Signals signals_;
    std::stop_source source_;
    const std::jthread listener_;
};

}  // namespace postroom::cli
