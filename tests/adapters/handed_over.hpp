// HandedOver: a dispatcher on the program's store, which never looks into the database for messages
// by itself: what it handles was handed over in memory.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "adapters/application.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/outbox.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {

class HandedOver {
public:
    explicit HandedOver(Store& store)
        : outbox_(store),
          dispatcher_(
              store,
              {.worker_count = 1, .poll_interval_max = std::chrono::hours{1}, .wake_ups = false}) {
        dispatcher_.on(order_placed().topic.str(), [this](const Message& message) {
            const std::lock_guard lock(mutex_);
            handled_.push_back(message.payload);
        });
        dispatcher_.start();
    }

    void enqueue(TxContext& tx, const std::string& payload) {
        NewMessage message = order_placed();
        message.payload = payload;
        outbox_.enqueue(tx, message);
    }

    // The payloads of what was handled until there was something, in that order.
    std::vector<std::string> handled() {
        const auto some = [this] {
            const std::lock_guard lock(mutex_);
            return !handled_.empty();
        };
        wait_until(some, std::chrono::minutes{1});
        dispatcher_.close();
        return handled_;
    }

private:
    const Outbox outbox_;
    std::mutex mutex_;
    std::vector<std::string> handled_;
    Dispatcher dispatcher_;
};

}  // namespace postroom::test
