// Asynchronous handlers as C++20 coroutines.
//
// Twenty orders are shipped through a courier that takes a tenth of a second to answer. The handler
// of a message only starts a coroutine and returns; the coroutine keeps the Delivery, waits for the
// answer without holding a thread, and settles it. So one worker has all of them under way at once.
// The courier turns one order down the first time: it is tried again.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <postroom/dispatcher.hpp>
#include <postroom/outbox.hpp>
#include <postroom/testing.hpp>

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

// Timer: `co_await timer.after(100ms)` goes on later, on the timer's thread.
class Timer {
public:
    Timer() : thread_([this](const std::stop_token& stop) { run(stop); }) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    // Coroutines that still wait are ended where they are; what they hold is dropped.
    ~Timer() {
        thread_.request_stop();
        thread_.join();
        for (const auto& [when, waiting] : waiting_) waiting.destroy();
    }

    struct Pause {
        bool await_ready() const { return false; }
        void await_suspend(std::coroutine_handle<> coroutine) const { timer.add(when, coroutine); }
        void await_resume() const {}

        Timer& timer;
        SteadyClock::time_point when;
    };
    Pause after(std::chrono::milliseconds time) {
        return {.timer = *this, .when = SteadyClock::now() + time};
    }

private:
    void add(SteadyClock::time_point when, std::coroutine_handle<> coroutine) {
        const std::lock_guard lock(mutex_);
        waiting_.emplace(when, coroutine);
        changed_.notify_one();
    }

    void run(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            if (waiting_.empty()) {
                changed_.wait(lock, stop, [this] { return !waiting_.empty(); });
                continue;
            }
            const SteadyClock::time_point when = waiting_.begin()->first;
            if (when > SteadyClock::now()) {
                changed_.wait_until(lock, stop, when,
                                    [&] { return waiting_.begin()->first < when; });
                continue;
            }
            const std::coroutine_handle<> coroutine = waiting_.begin()->second;
            waiting_.erase(waiting_.begin());
            lock.unlock();
            coroutine.resume();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::multimap<SteadyClock::time_point, std::coroutine_handle<>> waiting_;
    std::jthread thread_;  // last: it uses all of the above
};

// A coroutine that nobody waits for: it starts at once and frees itself at its end.
struct Detached {
    struct promise_type {
        Detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

struct Shop {
    Timer timer{};
    std::atomic<int> under_way = 0;
    std::atomic<int> most = 0;
    std::atomic<int> shipped = 0;
};

// `delivery` moves into the coroutine and lives as long as it does. Dropped without an outcome it
// would count as a failed attempt, so a forgotten path loses nothing.
Detached ship(Shop& shop, postroom::Delivery delivery) {
    try {
        shop.most = std::max(shop.most.load(), ++shop.under_way);
        co_await shop.timer.after(100ms);  // the courier thinks; no thread waits
        --shop.under_way;
        const postroom::Message& message = delivery.message();
        if (message.payload == "7" && message.retry_count == 0)
            throw std::runtime_error("no car is free");
        if (message.retry_count > 0)
            std::printf("order %s: shipped at the second try\n", message.payload.c_str());
        delivery.done();
        ++shop.shipped;
        shop.shipped.notify_one();
    } catch (const std::exception& error) {
        std::printf("order %s: %s, again in a moment\n", delivery.message().payload.c_str(),
                    error.what());
        delivery.retry(error.what(), 50ms);
    }
}

}  // namespace

int main() {
    constexpr int order_count = 20;
    postroom::MemoryStore store;
    const postroom::Outbox outbox(store);
    Shop shop;  // outlives the dispatcher, whose deliveries it may still hold

    postroom::Dispatcher dispatcher(store, {.worker_count = 1});
    dispatcher.routes().on_async(
        "order.placed", [&shop](postroom::Delivery delivery) { ship(shop, std::move(delivery)); });
    dispatcher.start();

    const auto begin = SteadyClock::now();
    std::vector<postroom::NewMessage> orders;
    for (int order = 1; order <= order_count; ++order)
        orders.push_back({.topic = "order.placed", .payload = std::to_string(order)});
    outbox.enqueue_all(orders);
    for (int shipped = 0; shipped < order_count; shipped = shop.shipped) shop.shipped.wait(shipped);
    const std::chrono::duration<double> took = SteadyClock::now() - begin;
    dispatcher.close();

    const postroom::Counts left = outbox.counts();
    std::printf(
        "%d orders of 0.1 s each in %.1f s, with one worker; %d were under way at once, "
        "%llu are left\n",
        shop.shipped.load(), took.count(), shop.most.load(),
        static_cast<unsigned long long>(left.ready + left.in_progress));
    return shop.most > 1 && !left.oldest ? 0 : 1;
}
