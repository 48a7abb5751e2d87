// The main function of a worker process that a test starts, kills and starts again.
#pragma once

#include <chrono>
#include <string>

#include "torture/worker_loop.hpp"

namespace postroom::test {

// Makes a Child of the arguments ROLE URL JOURNAL SEED LEASE_MS and calls its step() as
// torture::worker_loop does.
template <class Child>
int run_child(int count, char** arguments) {
    if (count != 6) return 2;
    Child child(arguments[1], arguments[2], arguments[3], std::stoull(arguments[4]),
                std::chrono::milliseconds{std::stoi(arguments[5])});
    return torture::worker_loop([&] { return child.step(); },
                                [&](const std::string& what) { child.note_error(what); });
}

}  // namespace postroom::test
