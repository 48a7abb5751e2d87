#include "queue/handler_run.hpp"

#include <array>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "queue/verdict.hpp"

namespace postroom {

namespace {

Verdict call(const Handler& handler, const Message& message, HandlerContext context) {
    std::exception_ptr thrown;
    try {
        handler(message, context);
    } catch (...) {
        thrown = std::current_exception();
    }
    return verdict_of(thrown, blameless_pause);
}

HandlerRun run_in_transaction(Store& store, const Handler& handler, const Message& message,
                              std::stop_token stop) {
    HandlerRun run;
    try {
        const std::unique_ptr<Transaction> tx = store.begin();
        run.verdict = call(handler, message, HandlerContext(std::move(stop), tx.get(), store.id()));
        if (run.verdict.outcome == Outcome::ack) {
            const std::array done{Settlement{.lease = message.lease.value()}};
            const Settled settled = store.settle(tx.get(), message.queue, done).front();
            if (settled != Settled::lost) tx->commit();
            run.settled = settled;
        }
    } catch (...) {
        run.verdict = verdict_of(std::current_exception(), blameless_pause);
    }
    return run;
}

}  // namespace

HandlerRun run_handler(Store& store, const Routes::Route& route, const Message& message,
                       std::stop_token stop) {
    if (route.batch) {
        return {
            .verdict =
                run_batch_handler(store, route, std::span(&message, 1), std::move(stop)).front()};
    }
    if (route.in_transaction)
        return run_in_transaction(store, route.handler, message, std::move(stop));
    return {.verdict =
                call(route.handler, message, HandlerContext(std::move(stop), nullptr, store.id()))};
}

std::vector<Verdict> run_batch_handler(const Store& store, const Routes::Route& route,
                                       std::span<const Message> messages, std::stop_token stop) {
    HandlerContext context(std::move(stop), nullptr, store.id());
    try {
        std::vector<Verdict> verdicts = route.batch(messages, context);
        if (verdicts.size() == messages.size()) return verdicts;
        return {messages.size(),
                Verdict::retry(fmt::format("the batch handler returned {} verdicts for {} messages",
                                           verdicts.size(), messages.size()))};
    } catch (...) {
        return {messages.size(), verdict_of(std::current_exception(), blameless_pause)};
    }
}

}  // namespace postroom
