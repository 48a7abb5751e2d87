// worker_loop: the life of a worker process that is killed and started again.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include "postroom/error.hpp"

namespace postroom::torture {

// Says "ready" on standard output, then calls `step` until the process is killed or `step` says
// false. Errors after which a worker carries on go to `on_error`; any other one ends the loop with
// exit code 1.
inline int worker_loop(const std::function<bool()>& step,
                       const std::function<void(const std::string&)>& on_error) {
    constexpr char ready[] = "ready\n";
    if (::write(STDOUT_FILENO, ready, sizeof ready - 1) < 0) return 1;
    while (true) {
        try {
            if (!step()) return 0;
        } catch (const Error& error) {
            if (!error.retryable() && error.kind() != ErrorKind::outcome_unknown) {
                std::fprintf(stderr, "worker: %s\n", error.what());
                return 1;
            }
            on_error(error.what());
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        } catch (const std::exception& error) {
            std::fprintf(stderr, "worker: %s\n", error.what());
            return 1;
        }
    }
}

}  // namespace postroom::torture
