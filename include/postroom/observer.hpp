// Observer: hears everything that happens to messages, as one stream of events.
//
// Log lines and metrics are observers (log.hpp, metrics.hpp); so is whatever an application wants
// to do with it. Events never carry a payload.
//
// Thread safety: observe() is called from many threads at once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "postroom/message.hpp"

namespace postroom {

enum class EventKind : std::uint8_t {
    enqueued,            // message, or count of several
    duplicate,           // message: its idempotency key was there before
    hot_enqueued,        // count: handed over in memory after the commit
    hot_dropped,         // count: no room in the hot queue, will be claimed instead
    cold_enqueued,       // count: claimed and queued
    claimed,             // count, duration: a claim returned
    started,             // message: its handler is called
    delivered,           // message, duration: handled and settled as done
    retried,             // message, error, delay, attempts, max_attempts: will be tried again
    dead,                // message, error, reason
    released,            // message, error (why), delay: not tried, no attempt counted
    unroutable,          // message: nobody handles it
    lost,                // message: its lease had run out or was taken over
    reaped,              // count: expired leases taken back
    purged,              // count
    circuit_opened,      // destination, error, delay
    circuit_closed,      // destination
    interceptor_failed,  // message, error
    hash_mismatch,       // message: the same inbox key came with other content
    store_failed,        // operation, error
    queue_depths,        // hot_depth, cold_depth
    oldest_lag,          // duration: age of the oldest message that is neither done nor dead
};

// Members that an event's kind does not name are at their defaults. Views and pointers are valid
// during the call only.
struct Event {
    EventKind kind{};
    Queue queue = Queue::outbox;
    std::string_view store{};          // the store's id
    const Message* message = nullptr;  // its payload and headers are empty
    std::uint64_t count = 0;
    std::string_view error{};
    std::string_view operation{};
    std::string_view destination{};
    DeadReason reason = DeadReason::none;
    std::uint32_t attempts = 0;  // deliveries that failed, this one included
    std::uint32_t max_attempts = 0;
    Duration duration{};
    Duration delay{};
    std::size_t hot_depth = 0;
    std::size_t cold_depth = 0;
};

class Observer {
public:
    Observer() = default;
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;
    virtual ~Observer() = default;

    // Must not throw and should be quick: the dispatcher waits.
    virtual void observe(const Event& event) noexcept = 0;
};

// Tells several observers, in order. They must outlive it.
class Observers final : public Observer {
public:
    Observers(std::initializer_list<Observer*> observers) : observers_(observers) {}
    void observe(const Event& event) noexcept override {
        for (Observer* observer : observers_) observer->observe(event);
    }

private:
    const std::vector<Observer*> observers_;
};

}  // namespace postroom
