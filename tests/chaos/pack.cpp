#include "chaos/pack.hpp"

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace postroom::test {

using namespace std::chrono_literals;

Pack::Pack(std::string program, std::size_t size, std::uint64_t seed,
           std::function<std::vector<std::string>(std::uint64_t)> arguments)
    : program_(std::move(program)), arguments_(std::move(arguments)), random_(seed) {
    for (std::size_t i = 0; i < size; ++i) children_.push_back(start());
}

ChildProcess Pack::start() {
    return ChildProcess({.program = program_path(program_), .arguments = arguments_(started_++)});
}

void Pack::await_ready(ChildProcess& child) const {
    if (child.read_line(60s) != "ready") throw std::runtime_error(program_ + " did not start");
}

void Pack::await_ready() {
    for (; ready_ < children_.size(); ++ready_) await_ready(children_[ready_]);
}

// The oldest goes first, so each lives through some kills of others and gets some work done.
void Pack::kill_one() {
    ChildProcess victim = std::move(children_.front());
    children_.pop_front();
    if (ready_ > 0) {
        --ready_;
    } else {
        await_ready(victim);
    }
    std::this_thread::sleep_for(std::chrono::microseconds{random_() % 30'000});
    const bool ran = victim.running();
    victim.kill(SIGKILL);
    victim.wait(30s);
    if (!ran) throw std::runtime_error(program_ + " ended by itself");
    ++kills_;
    children_.push_back(start());
}

}  // namespace postroom::test
