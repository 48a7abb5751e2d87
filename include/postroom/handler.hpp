// Handlers: the code that a message is for, how it is found, and what its outcome means.
//
//   Routes routes;
//   routes.on("order.placed", [](const Message& m) { send_mail(m.payload); });
//   routes.on<OrderPlaced>([](const OrderPlaced& order, const Message& raw) { ... });
//   routes.in_transaction("payment.received", [](const Message& m, HandlerContext& context) {
//       context.transaction().execute(...);   // commits together with the done mark, or not at all
//   });
//   while (process_one(inbox, routes)) {}
//
// A handler that returns is done. One that throws is tried again after a back-off, until its
// attempts are used up; the exceptions below say something more precise. A message may be delivered
// more than once, so a handler must bear that, unless it does all its work in the transaction it is
// given.
//
// Thread safety: Routes is built first and shared afterwards; handlers are called from any thread.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "postroom/message.hpp"
#include "postroom/transaction.hpp"
#include "postroom/work_queue.hpp"

namespace postroom {

// Thrown by a handler: try again after `delay`, whatever the policy says. Counts as an attempt.
class RetryAfter : public std::runtime_error {
public:
    RetryAfter(Duration delay, const std::string& why) : std::runtime_error(why), delay_(delay) {}
    Duration delay() const { return delay_; }

private:
    Duration delay_;
};

// Thrown by a handler: trying again is useless. The message is dead with this text.
class PermanentFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Thrown by a handler: not the message but its destination is at fault. Costs the message no
// attempt.
class DestinationDown : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What a handler is given beside the message.
class HandlerContext {
public:
    HandlerContext(std::stop_token stop, Transaction* transaction)
        : stop_(std::move(stop)), transaction_(transaction) {}

    // Requested when the worker stops; long handlers look at it.
    const std::stop_token& stop() const { return stop_; }

    // The open transaction in which the message will be marked done. Do not commit or roll it back.
    // Throws Error{misuse} in a handler that was not registered with in_transaction().
    Transaction& transaction() const;

private:
    std::stop_token stop_;
    Transaction* transaction_;
};

using Handler = std::function<void(const Message&, HandlerContext&)>;

// A type that a payload can be read into; see TypedMessage for the way there.
template <class T>
concept TypedPayload = std::default_initializable<T> && requires(std::string_view payload, T& out) {
    { T::topic } -> std::convertible_to<TopicName>;
    from_payload(payload, out);
};

// Routes: which handler a message goes to, by aggregate type and topic, exactly as written.
class Routes {
public:
    struct Route {
        Handler handler{};
        bool in_transaction = false;
    };

    // `handler` is called with (const Message&) or (const Message&, HandlerContext&). Without an
    // aggregate type it is AggregateType::global(). Throws Error{misuse} when the pair has a
    // handler, std::invalid_argument for an empty name.
    template <class F>
    Routes& on(const TopicName& topic, F handler) {
        return add({}, topic, {adapt(std::move(handler)), false});
    }
    template <class F>
    Routes& on(const AggregateType& aggregate_type, const TopicName& topic, F handler) {
        return add(aggregate_type, topic, {adapt(std::move(handler)), false});
    }

    // As on(), for T::topic: the payload is read into a T first. A payload that from_payload()
    // cannot read makes the message dead. `handler` is called with (const T&), (const T&,
    // const Message&) or (const T&, const Message&, HandlerContext&).
    template <TypedPayload T, class F>
    Routes& on(F handler) {
        return add({}, TopicName(T::topic), {adapt_typed<T>(std::move(handler)), false});
    }

    // As on(), and the handler runs inside the transaction that marks the message done.
    template <class F>
    Routes& in_transaction(const TopicName& topic, F handler) {
        return add({}, topic, {adapt(std::move(handler)), true});
    }
    template <class F>
    Routes& in_transaction(const AggregateType& aggregate_type, const TopicName& topic, F handler) {
        return add(aggregate_type, topic, {adapt(std::move(handler)), true});
    }
    template <TypedPayload T, class F>
    Routes& in_transaction(F handler) {
        return add({}, TopicName(T::topic), {adapt_typed<T>(std::move(handler)), true});
    }

    // nullptr when nobody handles it.
    const Route* find(const Message& message) const;

private:
    Routes& add(const AggregateType& aggregate_type, const TopicName& topic, Route route);

    template <class F>
    static Handler adapt(F handler) {
        if constexpr (std::invocable<F&, const Message&, HandlerContext&>) {
            return Handler(std::move(handler));
        } else {
            static_assert(std::invocable<F&, const Message&>,
                          "a handler takes (const Message&) or "
                          "(const Message&, HandlerContext&)");
            return [handler = std::move(handler)](const Message& m, HandlerContext&) mutable {
                handler(m);
            };
        }
    }

    template <class T>
    static T read(const Message& message) {
        T out;
        try {
            from_payload(message.payload, out);
        } catch (const std::exception& error) {
            throw PermanentFailure(std::string("payload cannot be read: ") + error.what());
        }
        return out;
    }

    template <class T, class F>
    static Handler adapt_typed(F handler) {
        return [handler = std::move(handler)](const Message& m,
                                              [[maybe_unused]] HandlerContext& context) mutable {
            if constexpr (std::invocable<F&, const T&, const Message&, HandlerContext&>) {
                handler(read<T>(m), m, context);
            } else if constexpr (std::invocable<F&, const T&, const Message&>) {
                handler(read<T>(m), m);
            } else {
                handler(read<T>(m));
            }
        };
    }

    std::map<std::pair<std::string, std::string>, Route> routes_;
};

// What becomes of a message that nobody handles.
enum class Unroutable {
    retry,  // abandoned: perhaps a newer version of the program will know it
    dead,
};

struct ProcessOptions {
    Unroutable unroutable = Unroutable::retry;
    std::function<void(const Message&)> on_unroutable{};  // hears of each; for a warning in the log
};

struct Processed {
    Message message{};
    Settled settled = Settled::lost;
    std::string error{};  // what the handler threw; empty when it returned
};

// Claims one message under the queue's own owner token and lease, runs its handler, and settles it.
// nullopt when none was ready. What the handler throws ends in the outcome, and so does a
// transaction of in_transaction() that cannot be begun or committed; what the store throws
// otherwise comes out.
std::optional<Processed> process_one(const WorkQueue& queue, const Routes& routes,
                                     const ProcessOptions& options = {}, std::stop_token stop = {});

// The second half of it, for a message that was claimed already.
Processed process(const WorkQueue& queue, const Routes& routes, Message message,
                  const ProcessOptions& options = {}, std::stop_token stop = {});

}  // namespace postroom
