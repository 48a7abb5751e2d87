#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "postroom/error.hpp"
#include "postroom/handler.hpp"
#include "queue/verdict.hpp"

namespace postroom {

namespace {

constexpr Duration blameless_pause = std::chrono::seconds{1};

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
    return queue.release(leases, verdict.delay.value_or(Duration::zero())).front();
}

Verdict run(const Handler& handler, const Message& message, HandlerContext context) {
    std::exception_ptr thrown;
    try {
        handler(message, context);
    } catch (...) {
        thrown = std::current_exception();
    }
    return verdict_of(thrown, blameless_pause);
}

// The handler's writes and the done mark commit together; a lease that was lost meanwhile undoes
// both, because another worker has the message now.
Settled run_in_transaction(const WorkQueue& queue, const Handler& handler, const Message& message,
                           std::stop_token stop, Verdict& verdict) {
    try {
        const std::unique_ptr<Transaction> tx = queue.store().begin();
        verdict = run(handler, message, HandlerContext(std::move(stop), tx.get()));
        if (verdict.outcome == Outcome::ack) {
            const Settled settled = queue.ack(std::array{*message.lease}, tx.get()).front();
            if (settled != Settled::lost) tx->commit();
            return settled;
        }
    } catch (const Error&) {
        verdict = verdict_of(std::current_exception(), blameless_pause);
    }
    return apply(queue, *message.lease, verdict);
}

Verdict unroutable(const Message& message, const ProcessOptions& options) {
    if (options.on_unroutable) options.on_unroutable(message);
    return {.outcome = options.unroutable == Unroutable::dead ? Outcome::fail : Outcome::abandon,
            .error = fmt::format("no handler for topic '{}' of aggregate type '{}'", message.topic,
                                 message.aggregate_type),
            .delay = {}};
}

}  // namespace

Processed process(const WorkQueue& queue, const Routes& routes, Message message,
                  const ProcessOptions& options, std::stop_token stop) {
    if (!message.lease) throw Error(ErrorKind::misuse, "process: the message carries no lease");
    Processed out;
    Verdict verdict;
    if (const Routes::Route* route = routes.find(message); route == nullptr) {
        verdict = unroutable(message, options);
        out.settled = apply(queue, *message.lease, verdict);
    } else if (route->in_transaction) {
        out.settled = run_in_transaction(queue, route->handler, message, std::move(stop), verdict);
    } else {
        verdict = run(route->handler, message, HandlerContext(std::move(stop), nullptr));
        out.settled = apply(queue, *message.lease, verdict);
    }
    out.error = std::move(verdict.error);
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
