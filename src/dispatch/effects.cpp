#include "dispatch/effects.hpp"

namespace postroom {

Effects::~Effects() {
    for (std::stop_source& stop : stops) stop.request_stop();
    notify();
    wake();
}

void Effects::notify() const {
    if (claimed) {
        notifier_.observe(
            {.kind = EventKind::claimed, .count = claimed->count, .duration = claimed->took});
    }
    for (const Message& message : unroutable) notifier_.observe(EventKind::unroutable, message);
    const auto counted = [&](EventKind kind, std::size_t count) {
        if (count > 0) notifier_.observe({.kind = kind, .count = count});
    };
    counted(EventKind::cold_enqueued, cold_enqueued);
    counted(EventKind::hot_enqueued, hot_enqueued);
    counted(EventKind::hot_dropped, hot_dropped);
    if (circuit) {
        notifier_.observe(
            {.kind = circuit->opened ? EventKind::circuit_opened : EventKind::circuit_closed,
             .error = circuit->error,
             .destination = circuit->destination,
             .delay = circuit->delay});
    }
    for (const auto& [outgoing, settled] : ended) notifier_.settled(outgoing, settled);
    for (const Lease& lease : lost) notifier_.lost(lease);
    if (depths) notifier_.observe(*depths);
}

void Effects::wake() const {
    if (workers > 0) notifier_.wake_workers(workers);
    if (poller) notifier_.wake(&WakeUps::poller);
    if (settler) notifier_.wake(&WakeUps::settler);
    if (keeper) notifier_.wake(&WakeUps::keeper);
    if (reporter) notifier_.wake(&WakeUps::reporter);
}

}  // namespace postroom
