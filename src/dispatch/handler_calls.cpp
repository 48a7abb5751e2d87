#include "dispatch/handler_calls.hpp"

#include <exception>
#include <thread>
#include <utility>

#include "queue/verdict.hpp"

namespace postroom {

HandlerCalls::Entered HandlerCalls::before(const Message& message) const {
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

void HandlerCalls::after(const Message& message, std::string_view error,
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
        notifier_.observe(EventKind::interceptor_failed, message, failure);
    }
}

std::vector<HandlerRun> HandlerCalls::run(const Work& work) const {
    return interceptors_.empty() ? run_handlers(work) : run_intercepted(work);
}

std::vector<HandlerRun> HandlerCalls::run_handlers(const Work& work) const {
    std::vector<HandlerRun> runs(work.messages.size());
    if (!work.route->batch) {
        for (std::size_t i = 0; i < runs.size(); ++i)
            runs[i] =
                run_handler(setup_.store, *work.route, work.messages[i], work.stop.get_token());
        return runs;
    }
    std::vector<Verdict> verdicts =
        run_batch_handler(setup_.store, *work.route, work.messages, work.stop.get_token());
    for (std::size_t i = 0; i < runs.size(); ++i) runs[i].verdict = std::move(verdicts[i]);
    return runs;
}

std::vector<HandlerRun> HandlerCalls::run_intercepted(const Work& work) const {
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
            runs[i] =
                run_handler(setup_.store, *work.route, work.messages[i], work.stop.get_token());
    } else if (!places.empty()) {
        std::span<const Message> given = work.messages;
        if (places.size() < work.messages.size()) {
            for (const std::size_t i : places) admitted.push_back(work.messages[i]);
            given = admitted;
        }
        std::vector<Verdict> verdicts =
            run_batch_handler(setup_.store, *work.route, given, work.stop.get_token());
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

// The work lives until the delivery is settled, on whatever thread.
void HandlerCalls::run_async(Work work, End end) const {
    const Entered entered = before(work.messages.front());
    const auto kept = std::make_shared<const Work>(std::move(work));
    const auto call = std::make_shared<AsyncCall>();
    Delivery delivery(
        std::shared_ptr<const Message>(kept, &kept->messages.front()), kept->stop.get_token(),
        [end, kept, call, count = entered.count](Verdict verdict) {
            if (call->speaking_to_itself()) {
                call->said = std::move(verdict);
            } else {
                end(*kept, count, std::move(verdict));
            }
        },
        setup_.store.id());
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
    end(*kept, entered.count,
        thrown && dropped ? verdict_of(thrown, blameless_pause) : std::move(*call->said));
}

}  // namespace postroom
