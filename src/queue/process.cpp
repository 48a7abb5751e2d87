#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "postroom/error.hpp"
#include "postroom/handler.hpp"
#include "queue/handler_run.hpp"

namespace postroom {

namespace {

// A handler may ask for any delay, also for none; the queue takes those within its limits.
std::optional<Duration> storable(std::optional<Duration> delay, const WorkQueue& queue) {
    if (!delay) return delay;
    return std::clamp(*delay, Duration{1}, queue.store().limits().delay_max);
}

Settled apply(const WorkQueue& queue, const Lease& lease, const Verdict& verdict) {
    const std::array leases{lease};
    switch (verdict.outcome) {
        case Outcome::ack:
            return queue.ack(leases).front();
        case Outcome::abandon:
            return queue.abandon(leases, verdict.error, storable(verdict.delay, queue)).front();
        case Outcome::fail:
            return queue.fail(leases, verdict.error).front();
        case Outcome::release:
            break;
    }
    return queue.release(leases, verdict.delay.value_or(blameless_pause)).front();
}

Verdict unroutable(const Message& message, const ProcessOptions& options) {
    if (options.on_unroutable) options.on_unroutable(message);
    Verdict verdict = Verdict::retry(fmt::format("no handler for topic '{}' of aggregate type '{}'",
                                                 message.topic, message.aggregate_type));
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
        run.verdict = unroutable(message, options);
    } else {
        run = run_handler(queue.store(), *route, message, std::move(stop));
    }
    Processed out;
    out.settled = run.settled ? *run.settled : apply(queue, *message.lease, run.verdict);
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
