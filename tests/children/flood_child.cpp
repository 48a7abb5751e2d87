// A process whose handlers stand still while it enqueues on and on, and which watches its memory.
//
//   flood_child URL PER_SECOND SECONDS
//
// Then its handlers go on, and it ends when all is delivered. It says
//
//   flood ENQUEUED SECONDS HANDED_OVER BYTES_AFTER_WARM_UP MOST_BYTES_LATER
//   drained HANDLED SECONDS
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "children/quick_dispatch.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t transaction_size = 50;

double seconds_since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Without what was freed and is merely not given back yet.
std::uint64_t resident_bytes() {
    ::malloc_trim(0);
    std::ifstream statm("/proc/self/statm");
    std::uint64_t pages = 0;
    std::uint64_t resident = 0;
    statm >> pages >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class HandOvers final : public Observer {
public:
    void observe(const Event& event) noexcept override {
        if (event.kind == EventKind::hot_enqueued) count += event.count;
    }
    std::atomic<std::uint64_t> count = 0;
};

class FloodChild {
public:
    explicit FloodChild(const std::string& url)
        : store_(open_store(url, {.pool_max = 8})),
          outbox_(*store_),
          dispatcher_(*store_, {.retention = Duration::zero(), .observer = &hand_overs_}) {
        dispatcher_.on("flood", [this](const Message&) {
            blocked_.wait(true);
            ++handled_;
        });
        dispatcher_.start();
    }

    void flood(std::uint64_t per_second, double seconds) {
        const std::vector<NewMessage> messages(
            transaction_size, {.topic = "flood", .payload = std::string(200, 'x')});
        const auto begin = SteadyClock::now();
        std::uint64_t enqueued = 0;
        std::uint64_t warm = 0;
        std::uint64_t most = 0;
        double next_look = seconds / 5;
        while (seconds_since(begin) < seconds) {
            outbox_.enqueue_all(messages);
            enqueued += transaction_size;
            if (seconds_since(begin) >= next_look) {
                next_look += seconds / 20;
                const std::uint64_t now = resident_bytes();
                if (warm == 0) warm = now;
                most = std::max(most, now);
            }
            std::this_thread::sleep_until(begin + enqueued * 1s / per_second);
        }
        const double took = seconds_since(begin);
        most = std::max(most, resident_bytes());
        say(fmt::format("flood {} {:.2f} {} {} {}", enqueued, took, hand_overs_.count.load(), warm,
                        most));
    }

    void drain() {
        const auto begin = SteadyClock::now();
        blocked_ = false;
        blocked_.notify_all();
        const auto left = [&] {
            const Counts counts = outbox_.counts();
            return counts.ready + counts.in_progress;
        };
        while (left() > 0) std::this_thread::sleep_for(100ms);
        dispatcher_.close();
        say(fmt::format("drained {} {:.2f}", handled_.load(), seconds_since(begin)));
    }

private:
    std::atomic<bool> blocked_ = true;
    std::atomic<std::uint64_t> handled_ = 0;
    HandOvers hand_overs_;
    std::unique_ptr<Store> store_;
    Outbox outbox_;
    Dispatcher dispatcher_;
};

}  // namespace
}  // namespace postroom::test

int main(int count, char** arguments) {
    if (count != 4) return 2;
    postroom::test::FloodChild child(arguments[1]);
    child.flood(std::stoull(arguments[2]), std::stod(arguments[3]));
    child.drain();
    return 0;
}
