#include "torture/pack.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace postroom::torture {

namespace {

using namespace std::chrono_literals;

constexpr Duration start_patience = 60s;
constexpr Duration short_pause = 30ms;

}  // namespace

Pack::Pack(std::size_t size, std::uint64_t seed, Duration pause_max, Work work)
    : work_(std::move(work)), random_(seed), pause_max_(pause_max) {
    for (std::size_t i = 0; i < size; ++i) start();
}

void Pack::start() {
    workers_.emplace_back([this, number = started_] { return work_(number); });
    ++started_;
}

bool Pack::kill_one() {
    if (workers_.empty()) return false;
    Process& victim = workers_.front();
    if (!victim.await_ready(start_patience)) return false;
    const Duration longest = random_() % 2 == 0 ? short_pause : std::max(short_pause, pause_max_);
    std::this_thread::sleep_for(Duration{
        static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(longest.count()))});
    if (!victim.is_running()) return false;
    workers_.pop_front();  // kills it
    ++kills_;
    start();
    return true;
}

std::uint64_t Pack::replace_crashed() {
    std::uint64_t crashed = 0;
    for (std::size_t i = workers_.size(); i > 0; --i) {
        Process worker = std::move(workers_.front());
        workers_.pop_front();
        if (worker.is_running()) {
            workers_.push_back(std::move(worker));
        } else if (!worker.ended_well()) {
            start();
            ++crashed;
        }
    }
    return crashed;
}

}  // namespace postroom::torture
