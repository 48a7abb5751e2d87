#include "postroom/observer.hpp"

namespace postroom {

namespace {

class Silence final : public Observer {
public:
    void observe(const Event&) noexcept override {}
    bool wants(EventKind) const noexcept override { return false; }
};

}  // namespace

// One for all who name none: a transaction's callback may use it when the outbox is gone.
Observer& default_observer() {
    static LogObserver log({.min_level = LogLevel::warning, .summary_every = 0});
    return log;
}

Observer& silence() {
    static Silence nobody;
    return nobody;
}

}  // namespace postroom
