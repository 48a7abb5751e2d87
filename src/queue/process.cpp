#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "postroom/error.hpp"
#include "postroom/handler.hpp"
#include "queue/handler_run.hpp"
#include "queue/message_fields.hpp"
#include "queue/settled_event.hpp"

namespace postroom {

namespace {

// A handler may ask for any delay, also for none; the queue takes those within its limits.
std::optional<Duration> storable(std::optional<Duration> delay, const WorkQueue& queue) {
    if (!delay) return delay;
    return std::clamp(*delay, Duration{1}, queue.store().limits().delay_max);
}

void tell(const WorkQueue& queue, EventKind kind, const Message& message) {
    if (!queue.observer().wants(kind)) return;
    const Message shown = labels_of(message);
    queue.observer().observe(
        {.kind = kind, .queue = queue.queue(), .store = queue.store().id(), .message = &shown});
}

// The handler's transaction settled it; otherwise the queue does, and tells.
void tell_settled(const WorkQueue& queue, const Message& message, Settled settled) {
    const Settlement done{.lease = message.lease.value()};
    if (!queue.observer().wants(settled_kind(done, settled))) return;
    const Message shown = labels_of(message);
    Event event = settled_event(shown, done, settled, 0);
    event.store = queue.store().id();
    queue.observer().observe(event);
}

Settled apply(const WorkQueue& queue, const Message& message, const Verdict& verdict) {
    switch (verdict.outcome) {
        case Outcome::ack:
            return queue.ack(message);
        case Outcome::abandon:
            return queue.abandon(message, verdict.error, storable(verdict.delay, queue));
        case Outcome::fail:
            return queue.fail(message, verdict.error);
        case Outcome::release:
            break;
    }
    return queue.release(message, std::clamp(verdict.delay.value_or(blameless_pause),
                                             Duration::zero(), queue.store().limits().delay_max));
}

Verdict unroutable(const Message& message, const ProcessOptions& options) {
    if (options.on_unroutable) options.on_unroutable(message);
    Verdict verdict = Verdict::retry(unroutable_error(message));
    if (options.unroutable == Unroutable::dead) verdict.outcome = Outcome::fail;
    if (options.unroutable == Unroutable::hold) verdict.outcome = Outcome::release;
    return verdict;
}

}  // namespace

Processed process(const WorkQueue& queue, const Routes& routes, Message message,
                  const ProcessOptions& options, std::stop_token stop) {
    if (!message.lease) throw Error(ErrorKind::misuse, "process: the message carries no lease");
    const Routes::Route* const route = routes.find(message);
    if (route != nullptr && route->async) {
        throw Error(ErrorKind::misuse, "process: an asynchronous handler needs a Dispatcher");
    }
    HandlerRun run;
    if (route == nullptr) {
        tell(queue, EventKind::unroutable, message);
        run.verdict = unroutable(message, options);
    } else {
        tell(queue, EventKind::started, message);
        run = run_handler(queue.store(), *route, message, std::move(stop));
    }
    if (run.settled) tell_settled(queue, message, *run.settled);
    Processed out;
    out.settled = run.settled ? *run.settled : apply(queue, message, run.verdict);
    out.error = std::move(run.verdict.error);
    out.message = std::move(message);
    return out;
}

std::optional<Processed> process_one(const WorkQueue& queue, const Routes& routes,
                                     const ProcessOptions& options, std::stop_token stop) {
    std::vector<Message> claimed = queue.claim_due(1, stop);
    if (claimed.empty()) return std::nullopt;
    return process(queue, routes, std::move(claimed.front()), options, std::move(stop));
}

}  // namespace postroom
