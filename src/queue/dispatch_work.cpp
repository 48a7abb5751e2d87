// From the queues through the handlers to the settler.
#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "base/assert.hpp"
#include "queue/dispatch_core.hpp"
#include "queue/verdict.hpp"

namespace postroom {

// Alone: nothing runs, nothing claimed waits, nothing is left to settle. What writers have handed
// over meanwhile stays where it is.
bool DispatchCore::lonely_may_start() const {
    return lonely_ && running_ == 0 && settling_ == 0 && settler_.empty() &&
           queues_.cold_size() == 0;
}

std::optional<QueuedMessage> DispatchCore::next_message() {
    if (closing_ || alone_) return std::nullopt;
    if (running_async_ < options_.async_max)
        if (std::optional<QueuedMessage> parked = queues_.pop_parked()) return parked;
    if (!lonely_) return queues_.pop();
    if (!lonely_may_start()) return queues_.pop(/*cold_only=*/true);
    return QueuedMessage{.message = *std::exchange(lonely_, std::nullopt), .path = Path::cold};
}

std::optional<Work> DispatchCore::take(Instant now) {
    std::optional<Work> work;
    std::vector<Message> unroutable;
    bool settle = false;
    bool room = false;
    bool ungated = false;
    {
        const base::MutexLock lock(mutex_);
        const std::size_t room_before = claim_room();
        const Instant settler_comes = settler_.next_due();
        const bool gated_before = lonely_.has_value();
        while (!work) {
            std::optional<QueuedMessage> queued = next_message();
            if (!queued) break;
            const Routes::Route* const route = routes_.find(queued->message);
            if (route != nullptr && route->async && running_async_ >= options_.async_max) {
                queues_.park(std::move(*queued));
                continue;
            }
            work = start(*queued, route, now, unroutable);
        }
        settle = settler_waits(settler_comes);
        room = room_before == 0 && claim_room() > 0;
        ungated = gated_before && !lonely_ && !alone_;
    }
    if (ungated) wake_workers(options_.worker_count);
    if (room) wake(&WakeUps::poller);
    if (settle) wake(&WakeUps::settler);
    for (const Message& message : unroutable) observe(EventKind::unroutable, message);
    if (work)
        for (const Message& message : work->messages) observe(EventKind::started, message);
    return work;
}

std::optional<Work> DispatchCore::start(QueuedMessage& queued, const Routes::Route* route,
                                        Instant now, std::vector<Message>& unroutable) {
    Message& message = queued.message;
    // Past its deadline another worker may have it. If not, it is free again without being counted
    // as lost.
    if (!in_flight_.holds(*message.lease, now)) {
        in_flight_.remove(*message.lease);
        Settlement back = release(message, Duration::zero(), "it waited here past its lease");
        settle_later(std::move(message), std::move(back), now);
        return std::nullopt;
    }
    std::optional<Refusal> refused = refusal(message, route, now);
    const std::string& to = destination(message.topic);
    if (!refused && !circuits_.start(to, now))
        refused = Refusal{.settlement =
                              release(message, circuits_.rest(to, now), "its destination is down")};
    if (refused) {
        settle_later(message, std::move(refused->settlement), now);
        if (refused->unroutable) unroutable.push_back(std::move(message));
        return std::nullopt;
    }
    Work work{.route = route, .destination = to, .started = now, .lonely = is_lonely(message)};
    if (work.lonely) {
        alone_ = true;
        alone_since_ = now;
    }
    ++running_;
    if (work.route->async) ++running_async_;
    in_flight_.start(*message.lease, work.stop, now);
    work.messages.push_back(std::move(message));
    add_to_batch(work, queued.path, now);
    return work;
}

// One call counts as one to the circuit, however many messages it is for.
void DispatchCore::add_to_batch(Work& work, Path path, Instant now) {
    if (!work.route->batch || work.lonely) return;
    while (work.messages.size() < work.route->batch_max) {
        const Message* const candidate = queues_.front(path);
        if (candidate == nullptr || routes_.find(*candidate) != work.route ||
            refusal(*candidate, work.route, now) || !in_flight_.holds(*candidate->lease, now))
            return;
        Message next = std::move(queues_.pop_from(path)->message);
        in_flight_.start(*next.lease, work.stop, now);
        work.messages.push_back(std::move(next));
    }
}

DispatchCore::Entered DispatchCore::before(const Message& message) const {
    Entered entered;
    try {
        for (const auto& interceptor : interceptors_) {
            ++entered.count;
            interceptor->before(message);
        }
    } catch (...) {
        entered.refused = verdict_of(std::current_exception(), blameless_pause);
    }
    return entered;
}

void DispatchCore::after(const Message& message, std::string_view error,
                         std::size_t entered) const {
    for (std::size_t i = entered; i > 0; --i) {
        std::string failure;
        try {
            interceptors_[i - 1]->after(message, error);
            continue;
        } catch (const std::exception& thrown) {
            failure = thrown.what();
        } catch (...) {
            failure = "unknown exception";
        }
        observe(EventKind::interceptor_failed, message, failure);
    }
}

void DispatchCore::run(Work work) {
    if (work.route->async) return run_async(std::move(work));
    std::vector<HandlerRun> runs =
        interceptors_.empty() ? run_handlers(work) : run_intercepted(work);
    finish(std::move(work), std::move(runs), clock_.now());
}

std::vector<HandlerRun> DispatchCore::run_handlers(const Work& work) {
    std::vector<HandlerRun> runs(work.messages.size());
    if (!work.route->batch) {
        for (std::size_t i = 0; i < runs.size(); ++i)
            runs[i] = run_handler(store_, *work.route, work.messages[i], work.stop.get_token());
        return runs;
    }
    std::vector<Verdict> verdicts =
        run_batch_handler(store_, *work.route, work.messages, work.stop.get_token());
    for (std::size_t i = 0; i < runs.size(); ++i) runs[i].verdict = std::move(verdicts[i]);
    return runs;
}

std::vector<HandlerRun> DispatchCore::run_intercepted(const Work& work) {
    std::vector<HandlerRun> runs(work.messages.size());
    std::vector<Entered> entered;
    std::vector<Message> admitted;  // copies, only where some of a batch were refused
    std::vector<std::size_t> places;
    for (const Message& message : work.messages) entered.push_back(before(message));
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (entered[i].refused) {
            runs[i].verdict = *entered[i].refused;
        } else {
            places.push_back(i);
        }
    }
    if (!work.route->batch) {
        for (const std::size_t i : places)
            runs[i] = run_handler(store_, *work.route, work.messages[i], work.stop.get_token());
    } else if (!places.empty()) {
        std::span<const Message> given = work.messages;
        if (places.size() < work.messages.size()) {
            for (const std::size_t i : places) admitted.push_back(work.messages[i]);
            given = admitted;
        }
        std::vector<Verdict> verdicts =
            run_batch_handler(store_, *work.route, given, work.stop.get_token());
        for (std::size_t n = 0; n < places.size(); ++n)
            runs[places[n]].verdict = std::move(verdicts[n]);
    }
    for (std::size_t i = 0; i < runs.size(); ++i)
        after(work.messages[i], runs[i].verdict.error, entered[i].count);
    return runs;
}

namespace {

// What an asynchronous handler says while it is being called waits until the call is over: when it
// throws, its parameter is dropped before the exception can be caught, and the exception counts.
struct AsyncCall {
    bool speaking_to_itself() const { return std::this_thread::get_id() == thread && active; }

    const std::thread::id thread = std::this_thread::get_id();
    // Of that thread only.
    bool active = true;
    std::optional<Verdict> said{};
};

}  // namespace

// The work lives until the delivery is settled, on whatever thread. The core may be gone by then;
// its leases have run out.
void DispatchCore::run_async(Work work) {
    const Entered entered = before(work.messages.front());
    const auto kept = std::make_shared<const Work>(std::move(work));
    const auto call = std::make_shared<AsyncCall>();
    const auto end = [kept, count = entered.count](DispatchCore& core, Verdict verdict) {
        core.after(kept->messages.front(), verdict.error, count);
        core.finish(*kept, {{.verdict = std::move(verdict)}}, core.clock_.now());
    };
    Delivery delivery(
        std::shared_ptr<const Message>(kept, &kept->messages.front()), kept->stop.get_token(),
        [end, call, weak = weak_from_this()](Verdict verdict) {
            if (call->speaking_to_itself()) {
                call->said = std::move(verdict);
            } else if (const auto core = weak.lock()) {
                end(*core, std::move(verdict));
            }
        },
        store_.id());
    std::exception_ptr thrown;
    if (entered.refused) {
        delivery.settle(*entered.refused);
    } else {
        try {
            kept->route->async(std::move(delivery));
        } catch (...) {
            thrown = std::current_exception();
        }
    }
    call->active = false;
    // A handler that gave the delivery to others before it threw leaves the outcome to them.
    if (!call->said) return;
    const bool dropped = call->said->error == dropped_delivery;
    end(*this, thrown && dropped ? verdict_of(thrown, blameless_pause) : std::move(*call->said));
}

std::optional<Event> DispatchCore::judge(const Work& work, const Verdict& verdict, Instant now) {
    if (verdict.destination_down) {
        if (!circuits_.failed(work.destination, now)) return std::nullopt;
        return Event{.kind = EventKind::circuit_opened,
                     .error = verdict.error,
                     .destination = work.destination,
                     .delay = circuits_.rest(work.destination, now)};
    }
    if (verdict.outcome != Outcome::ack) {
        circuits_.neither(work.destination);
    } else if (circuits_.succeeded(work.destination)) {
        return Event{.kind = EventKind::circuit_closed, .destination = work.destination};
    }
    return std::nullopt;
}

void DispatchCore::finish(Work work, std::vector<HandlerRun> runs, Instant now) {
    POSTROOM_ASSERT(runs.size() == work.messages.size());
    std::optional<Event> circuit;
    std::vector<std::pair<Outgoing, Settled>> ended;
    bool settle = false;
    bool others_wait = false;
    {
        const base::MutexLock lock(mutex_);
        if (closed_) return;
        ++telling_;
        const Instant settler_comes = settler_.next_due();
        // What a message that is handled alone, or the number of asynchronous ones, has kept back.
        others_wait = lonely_ || work.lonely || running_async_ >= options_.async_max;
        --running_;
        if (work.route->async) --running_async_;
        if (work.lonely) alone_ = false;
        const auto down = std::find_if(runs.begin(), runs.end(), [](const HandlerRun& run) {
            return run.verdict.destination_down;
        });
        circuit = judge(work, (down == runs.end() ? runs.front() : *down).verdict, now);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            Message& message = work.messages[i];
            const Lease lease = *message.lease;
            Settlement settled = settlement(message, runs[i].verdict, now);
            const bool hurried = hurries(message, settled);
            Outgoing told = outgoing(message, std::move(settled), now - work.started);
            const bool held = in_flight_.finish(lease);
            if (runs[i].settled) {
                in_flight_.remove(lease);
                ended.emplace_back(std::move(told), *runs[i].settled);
            } else if (held) {
                settler_.add(std::move(told), now, hurried);
            } else {
                ended.emplace_back(std::move(told), Settled::lost);
            }
        }
        settle = settler_waits(settler_comes);
    }
    if (circuit) observe(*circuit);
    for (const auto& [outgoing, settled] : ended) tell(outgoing, settled);
    {
        const base::MutexLock lock(mutex_);
        --telling_;
    }
    if (settle) wake(&WakeUps::settler);
    if (others_wait) wake_workers(options_.worker_count);
    if (work.lonely) wake(&WakeUps::poller);
}

}  // namespace postroom
