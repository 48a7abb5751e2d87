// DispatcherLaw: what the dispatcher promises, with real threads, on every backend.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "conformance/law.hpp"
#include "postroom/dispatcher.hpp"

namespace postroom::test {

// Keeps what it heard.
class Recorder final : public Observer {
public:
    void observe(const Event& event) noexcept override {
        const std::lock_guard lock(mutex_);
        ++counts_[event.kind];
        if (!event.error.empty()) errors_.emplace_back(event.error);
        if (event.kind == EventKind::dead) reasons_.push_back(event.reason);
    }
    std::size_t count(EventKind kind) const {
        const std::lock_guard lock(mutex_);
        const auto at = counts_.find(kind);
        return at == counts_.end() ? 0 : at->second;
    }
    std::vector<std::string> errors() const {
        const std::lock_guard lock(mutex_);
        return errors_;
    }
    std::vector<DeadReason> reasons() const {
        const std::lock_guard lock(mutex_);
        return reasons_;
    }

private:
    mutable std::mutex mutex_;
    std::map<EventKind, std::size_t> counts_;
    std::vector<std::string> errors_;
    std::vector<DeadReason> reasons_;
};

class DispatcherBase : public Law {
protected:
    // Short times, so that tests are quick; but a lease that a machine which stands still for a
    // while keeps.
    DispatcherOptions quick() {
        return {
            .queue = queue(),
            .lease = std::chrono::seconds{20},
            .retry = {.base = std::chrono::milliseconds{10}, .cap = std::chrono::milliseconds{50}},
            .hold_delay = std::chrono::milliseconds{50},
            .circuit_open_for = std::chrono::milliseconds{50},
            .poll_interval_max = std::chrono::milliseconds{50},
            .reap_interval = std::chrono::milliseconds{100},
            .observer = &heard};
    }

    // Lets time pass until `holds`, at most a minute of the machine's.
    template <class Holds>
    bool eventually(const Holds& holds) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (!holds()) {
            if (std::chrono::steady_clock::now() > give_up) return false;
            pass(std::chrono::milliseconds{2});
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        return true;
    }
    bool eventually_state(const WorkItemId& id, State state) {
        return eventually([&] {
            const std::optional<Message> message = find(id);
            return message && message->state == state;
        });
    }

    // Whether close() has returned before it may give up a database that is away, so that all is
    // settled; drain_timeout must be short. On a machine that stands still it looks as if it were.
    static bool closes_in_time(Dispatcher& dispatcher) {
        const auto start = std::chrono::steady_clock::now();
        dispatcher.close();
        return std::chrono::steady_clock::now() - start < std::chrono::seconds{5};
    }

    // Two dispatchers, each on a store of its own, deliver `count` messages to `handler`.
    template <class Handler>
    void deliver_with_two(std::size_t count, const Handler& handler) {
        const std::unique_ptr<Store> second = sandbox().reopen();
        Dispatcher one(store(), quick());
        Dispatcher two(*second, quick());
        one.on("order.placed", handler);
        two.on("order.placed", handler);
        one.start();
        two.start();
        EXPECT_TRUE(eventually([&] { return heard.count(EventKind::delivered) == count; }));
    }

    Recorder heard;
};

class DispatcherLaw : public DispatcherBase {};
class HotPathLaw : public DispatcherBase {};
class ObservedLaw : public DispatcherBase {};
// Where operators have a hand in the store.
class UpkeepLaw : public DispatcherBase {};
class ObservedOutboxLaw : public Law {};
class ObservedInboxLaw : public Law {};

}  // namespace postroom::test

#define POSTROOM_DISPATCHER_LAWS(backend)                 \
    POSTROOM_LAW(DispatcherLaw, both_queues_of(backend)); \
    POSTROOM_LAW(ObservedLaw, both_queues_of(backend));   \
    POSTROOM_LAW(ObservedOutboxLaw, outbox_of(backend));  \
    POSTROOM_LAW(ObservedInboxLaw, inbox_of(backend));    \
    POSTROOM_LAW(HotPathLaw, outbox_of(backend))
