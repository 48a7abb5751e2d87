#include "dispatch/notifier.hpp"

#include <utility>

#include "queue/message_fields.hpp"
#include "queue/settled_event.hpp"

namespace postroom {

void Notifier::connect(WakeUps wake_ups) {
    const base::MutexLock lock(mutex_);
    wake_ups_ = std::make_shared<const WakeUps>(std::move(wake_ups));
}

// Called under its mutex, so that connect() returns after the last call.
void Notifier::wake(const std::function<void()> WakeUps::*whom) const {
    const base::MutexLock lock(mutex_);
    const std::function<void()>& call = (*wake_ups_).*whom;
    if (call) call();
}

void Notifier::wake_workers(std::size_t count) const {
    const base::MutexLock lock(mutex_);
    if (wake_ups_->workers) wake_ups_->workers(count);
}

void Notifier::observe(Event event) const {
    if (!setup_.observer.wants(event.kind)) return;
    event.queue = setup_.options.queue;
    event.store = setup_.store.id();
    setup_.observer.observe(event);
}

void Notifier::observe(EventKind kind, const Message& message, std::string_view error) const {
    if (!setup_.observer.wants(kind)) return;
    const Message shown = labels_of(message);
    observe({.kind = kind, .message = &shown, .error = error});
}

void Notifier::settled(const Outgoing& outgoing, Settled settled) const {
    if (!wants(settled_kind(outgoing.settlement, settled))) return;
    const Message& message = *outgoing.message;
    Event event = settled_event(message, outgoing.settlement, settled,
                                setup_.retry_policy(message.topic).max_attempts);
    event.duration = outgoing.took;
    event.since = setup_.clock.now() - outgoing.ended;
    observe(event);
}

void Notifier::lost(const Lease& lease) const {
    Message message;
    message.id = lease.id;
    message.queue = setup_.options.queue;
    message.lease = lease;
    observe({.kind = EventKind::lost, .message = &message, .operation = "extend"});
}

void Notifier::store_failed(std::string_view operation, std::string_view error) const {
    failures_.fetch_add(1, std::memory_order_relaxed);
    observe({.kind = EventKind::store_failed, .error = error, .operation = operation});
}

}  // namespace postroom
