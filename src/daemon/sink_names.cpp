#include "daemon/sink_names.hpp"

namespace postroom::daemon {

SinkNames::SinkNames(const std::vector<RoutePlan>& routes, Observer& next) : next_(next) {
    const BatchHandler never_called = [](auto&&...) { return std::vector<Verdict>{}; };
    for (const RoutePlan& route : routes)
        sinks_.on_matching(route.pattern, 1, never_called, route.sink);
}

void SinkNames::observe(const Event& event) noexcept {
    const std::string* const sink =
        event.message == nullptr ? nullptr : sinks_.destination(event.message->topic);
    if (sink == nullptr || !event.destination.empty()) return next_.observe(event);
    Event named = event;
    named.destination = *sink;
    next_.observe(named);
}

}  // namespace postroom::daemon
