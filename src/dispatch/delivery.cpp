#include "postroom/handler.hpp"

#include "queue/handler_run.hpp"

namespace postroom {

Delivery::Delivery(std::shared_ptr<const Message> message, std::stop_token stop, Settle settle,
                   std::string store)
    : message_(std::move(message)),
      stop_(std::move(stop)),
      settle_(std::move(settle)),
      store_(std::move(store)) {}

// A std::function that was moved from is unspecified, not empty.
Delivery::Delivery(Delivery&& other) noexcept
    : message_(std::move(other.message_)),
      stop_(std::move(other.stop_)),
      settle_(std::exchange(other.settle_, nullptr)),
      store_(std::move(other.store_)) {}

Delivery& Delivery::operator=(Delivery&& other) noexcept {
    if (this != &other) {
        settle(Verdict::retry(std::string(dropped_delivery)));
        message_ = std::move(other.message_);
        stop_ = std::move(other.stop_);
        settle_ = std::exchange(other.settle_, nullptr);
        store_ = std::move(other.store_);
    }
    return *this;
}

Delivery::~Delivery() { settle(Verdict::retry(std::string(dropped_delivery))); }

void Delivery::settle(Verdict verdict) {
    if (const Settle settle = std::exchange(settle_, nullptr)) settle(std::move(verdict));
}

}  // namespace postroom
