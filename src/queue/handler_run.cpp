#include "queue/handler_run.hpp"

#include <array>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "postroom/error.hpp"
#include "queue/verdict.hpp"

namespace postroom {

namespace {

Verdict call(const Handler& handler, const Message& message, HandlerContext context) {
    try {
        return handler(message, context);
    } catch (...) {
        return verdict_of(std::current_exception(), blameless_pause);
    }
}

// Whether the handler has ended the transaction that it was given. One that the database has
// undone, as after a deadlock, may be repeated.
bool was_ended(Transaction& tx) {
    if (tx.in_transaction()) return false;
    try {
        tx.execute({.sql = "SELECT 1"});
    } catch (const Error& error) {
        return error.kind() == ErrorKind::misuse;  // else the connection is gone
    }
    return true;
}

HandlerRun run_in_transaction(Store& store, const Handler& handler, const Message& message,
                              std::stop_token stop) {
    HandlerRun run;
    try {
        const std::unique_ptr<Transaction> tx = store.begin();
        run.verdict = call(handler, message, HandlerContext(std::move(stop), tx.get(), store.id()));
        if (was_ended(*tx)) {
            // What it wrote may stand already, and would be written again by another attempt,
            // whatever the handler itself says.
            run.verdict = Verdict::fail(
                "the handler ended the transaction that it was given (COMMIT, ROLLBACK, a change "
                "of the schema): its effect and the end of the message cannot be one" +
                (run.verdict.error.empty() ? "" : "; it said: " + run.verdict.error));
        } else if (run.verdict.outcome == Outcome::ack) {
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

std::string unroutable_error(const Message& message) {
    std::string error = fmt::format("no handler for topic '{}'", message.topic);
    if (message.aggregate_type != AggregateType::global_name)
        error += fmt::format(" of aggregate type '{}'", message.aggregate_type);
    return error;
}

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
