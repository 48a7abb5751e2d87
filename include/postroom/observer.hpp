// Observer: hears everything that happens to messages, as one stream of events.
//
// Log lines (LogObserver), metrics (metrics.hpp) and spans (tracing.hpp) are made by observers; an
// application may have its own. Events never carry a payload. Where no observer is given, warnings
// and errors go to standard error: see default_observer().
//
// Thread safety: observe() is called from many threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "postroom/message.hpp"

namespace postroom {

enum class EventKind : std::uint8_t {
    enqueued,        // message, or count of several
    duplicate,       // message: its idempotency key, or as an inbox message it, was there before
    checked,         // message, with its state: an inbox was asked whether it is processed
    hot_enqueued,    // count: handed over in memory after the commit
    hot_dropped,     // count: no room in the hot queue, will be claimed instead
    cold_enqueued,   // count: claimed and queued
    claimed,         // count, duration: a claim returned
    started,         // message: its handler is called
    delivered,       // message, duration: handled and settled as done
    retried,         // message, error, delay, attempts, max_attempts: will be tried again
    dead,            // message, error, reason
    released,        // message, error (why), delay: not tried, no attempt counted
    unroutable,      // message: nobody handles it
    lost,            // message, operation ("settle" or "extend"): that found its lease gone
    reaped,          // count: expired leases taken back
    purged,          // count
    circuit_opened,  // destination, error, delay
    circuit_closed,  // destination
    interceptor_failed,  // message, error
    hash_mismatch,       // message: the same inbox key came with other content
    store_failed,        // operation, error
    store_waits,         // operation, duration: the store has not answered for so long
    queue_depths,        // hot_depth, cold_depth, their capacities, in_flight
    oldest_lag,          // duration: age of the oldest message that is neither done nor dead
};

// Members that an event's kind does not name are at their defaults. Views and pointers are valid
// during the call only.
struct Event {
    EventKind kind{};
    Queue queue = Queue::outbox;
    std::string_view store{};  // the store's id
    // Its payload is empty; of its headers only `traceparent` and `tracestate` are there.
    const Message* message = nullptr;
    std::uint64_t count = 0;
    std::string_view error{};
    std::string_view operation{};
    std::string_view destination{};
    DeadReason reason = DeadReason::none;
    std::uint32_t attempts = 0;  // deliveries that failed, this one included
    std::uint32_t max_attempts = 0;
    Duration duration{};
    Duration since{};  // of a delivery: since its handler returned
    Duration delay{};
    bool stamped = false;  // enqueued: its trace context was made for it, not by its writer
    std::size_t hot_depth = 0;
    std::size_t cold_depth = 0;
    std::size_t hot_capacity = 0;
    std::size_t cold_capacity = 0;
    std::size_t in_flight = 0;  // leases held
};

class Observer {
public:
    Observer() = default;
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;
    virtual ~Observer() = default;

    // Must not throw and should be quick: the dispatcher waits.
    virtual void observe(const Event& event) noexcept = 0;

    // False: observe() does nothing with events of this kind, and they need not be put together.
    virtual bool wants(EventKind) const noexcept { return true; }
};

// Who hears where nobody else was named: LogObserver, from warnings upwards, to standard error.
Observer& default_observer();
// Hears nothing and says nothing: `.observer = &silence()`.
Observer& silence();

// Tells several observers, in order. They must outlive it.
class Observers final : public Observer {
public:
    Observers(std::initializer_list<Observer*> observers) : observers_(observers) {}
    void observe(const Event& event) noexcept override {
        for (Observer* observer : observers_) observer->observe(event);
    }
    bool wants(EventKind kind) const noexcept override {
        for (const Observer* observer : observers_)
            if (observer->wants(kind)) return true;
        return false;
    }

private:
    const std::vector<Observer*> observers_;
};

enum class LogLevel : std::uint8_t { debug, info, warning, error };
// "DEBUG", "INFO", "WARNING", "ERROR".
std::string_view to_string(LogLevel level);

// One line to standard error: the time (RFC 3339, UTC), the level, the text. Lines of several
// threads do not mix.
void log_to_stderr(LogLevel level, std::string_view text);

struct LogOptions {
    // Takes one line, without a line break at its end. Called from many threads at once; what it
    // throws is swallowed.
    std::function<void(LogLevel, std::string_view)> write = &log_to_stderr;
    LogLevel min_level = LogLevel::info;
    // The INFO lines that come for every message: its enqueuing, its handler's call and return.
    bool per_message_info = true;
    // After so many claims of one queue of one store, a line with the totals since the last; 0: no
    // such lines.
    std::uint32_t summary_every = 100;
    // Longer values (of errors, mostly) are cut and end with "...".
    std::size_t max_value_chars = 1000;
    // A store that fails is one line, then one after each such time as long as it does, and one
    // when a claim succeeds again.
    Duration outage_every = std::chrono::minutes{1};
    // Tells how long an outage lasts; nullptr: monotonic_clock(). Must outlive the observer.
    const Clock* clock = nullptr;
};

class Outages;

// LogObserver: writes what happens to messages as lines of text.
//
// A line is one event: a name and fields, `OUTBOX_WORKER_FETCH store=main count=3`. Lines of the
// inbox begin with INBOX_. The store's id is always there, a payload, a header or a hash never.
// Values with spaces, quotes or control characters are quoted and escaped, so that an event is one
// line whatever an error text holds; docs/guides/observing.md lists the lines and their levels.
//
// An error text is what a handler or a driver threw. Postroom cannot know what a handler put into
// it: handlers that quote payloads in their exceptions quote them in the log.
class LogObserver final : public Observer {
public:
    // An empty `write` means log_to_stderr().
    explicit LogObserver(LogOptions options = {});
    ~LogObserver() override;

    void observe(const Event& event) noexcept override;
    bool wants(EventKind kind) const noexcept override;

private:
    class Summaries;

    void write_event(const Event& event);
    void write_recovery(const Event& event);

    const LogOptions options_;
    const Clock& clock_;
    // Synchronize themselves.
    const std::unique_ptr<Summaries> summaries_;
    const std::unique_ptr<Outages> outages_;
};

}  // namespace postroom
