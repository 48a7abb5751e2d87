// Pack: several children of one kind, killed one after the other and replaced.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace postroom::test {

class Pack {
public:
    // `arguments` gives those of the n-th child started.
    Pack(std::string program, std::size_t size, std::uint64_t seed,
         std::function<std::vector<std::string>(std::uint64_t)> arguments);

    // SIGKILL to one of them, up to 30 ms after it said that it is ready; another one takes its
    // place. Throws std::runtime_error when the child had ended by itself.
    void kill_one();

    // Returns when all of them have said that they are ready.
    void await_ready();

    // SIGKILL to all of them.
    void kill_all() { children_.clear(); }

    std::uint64_t kills() const { return kills_; }

private:
    ChildProcess start();
    void await_ready(ChildProcess& child) const;

    const std::string program_;
    const std::function<std::vector<std::string>(std::uint64_t)> arguments_;
    std::mt19937_64 random_;
    std::deque<ChildProcess> children_;
    std::size_t ready_ = 0;  // so many, from the oldest on, have said it to await_ready()
    std::uint64_t started_ = 0;
    std::uint64_t kills_ = 0;
};

}  // namespace postroom::test
