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
// A handler that returns is done, unless it returns a Verdict: then that counts. One that throws is
// tried again after a back-off, until its attempts are used up; the exceptions below say something
// more precise. A handler that returns anything else does not compile. A message may be delivered
// more than once, so a handler must cope with repeats, unless it does all its work in the
// transaction it is given.
//
// Thread safety: Routes is built first and shared afterwards; handlers are called from any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "postroom/detail/callable.hpp"
#include "postroom/message.hpp"
#include "postroom/send_rate.hpp"
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
    HandlerContext(std::stop_token stop, Transaction* transaction, std::string_view store = {})
        : stop_(std::move(stop)), transaction_(transaction), store_(store) {}

    // The id of the store that the message is from.
    std::string_view store() const { return store_; }

    // Requested when the lease was lost, the handler's time is up or the worker stops; long
    // handlers look at it. Callbacks on it must be quick: others' leases wait for them.
    const std::stop_token& stop() const { return stop_; }

    // The open transaction in which the message will be marked done. Do not commit or roll it back.
    // Throws Error{misuse} in a handler that was not registered with in_transaction().
    Transaction& transaction() const;

private:
    std::stop_token stop_;
    Transaction* transaction_;
    std::string_view store_;
};

// What became of a message in its handler. Returning and throwing say the same.
struct [[nodiscard]] Verdict {
    Outcome outcome = Outcome::ack;
    std::string error{};
    std::optional<Duration> delay{};  // abandon: nullopt for the policy's
    bool destination_down = false;    // opens the circuit of the message's destination

    static Verdict done() { return {}; }
    static Verdict retry(std::string why, std::optional<Duration> delay = {}) {
        return {.outcome = Outcome::abandon, .error = std::move(why), .delay = delay};
    }
    static Verdict fail(std::string why) {
        return {.outcome = Outcome::fail, .error = std::move(why)};
    }
    static Verdict down(std::string why) {
        return {.outcome = Outcome::release, .error = std::move(why), .destination_down = true};
    }
};

// Delivery: a message on its way through an asynchronous handler, to be settled once, from any
// thread, whenever the outcome is known. Dropped without an outcome it counts as a failed attempt.
// The lease is renewed meanwhile. After the dispatcher has been closed, outcomes have no effect.
class Delivery {
public:
    using Settle = std::function<void(Verdict)>;

    Delivery(std::shared_ptr<const Message> message, std::stop_token stop, Settle settle,
             std::string store = {});
    Delivery(Delivery&& other) noexcept;
    Delivery& operator=(Delivery&& other) noexcept;
    ~Delivery();

    const Message& message() const { return *message_; }
    // The id of the store that it is from.
    const std::string& store() const { return store_; }
    // Requested when the lease was lost or the dispatcher stops.
    const std::stop_token& stop() const { return stop_; }

    // The first of these counts; later ones do nothing.
    void done() { settle(Verdict::done()); }
    void retry(std::string why, std::optional<Duration> delay = {}) {
        settle(Verdict::retry(std::move(why), delay));
    }
    void fail(std::string why) { settle(Verdict::fail(std::move(why))); }
    void destination_down(std::string why) { settle(Verdict::down(std::move(why))); }
    void settle(Verdict verdict);

private:
    std::shared_ptr<const Message> message_;
    std::stop_token stop_;
    Settle settle_;  // empty: settled, or moved from
    std::string store_;
};

// Interceptor: runs around every handler, for audit, logging, tracing.
class Interceptor {
public:
    Interceptor() = default;
    Interceptor(const Interceptor&) = delete;
    Interceptor& operator=(const Interceptor&) = delete;
    virtual ~Interceptor() = default;

    // In order of registration. What it throws counts as if the handler had thrown it, and neither
    // the handler nor the interceptors behind this one are called.
    virtual void before(const Message& /*message*/) {}

    // In reverse order, for those whose before() was called. `error` is empty after success. What
    // it throws is told to the observer and swallowed.
    virtual void after(const Message& /*message*/, std::string_view /*error*/) {}
};

using Handler = std::function<Verdict(const Message&, HandlerContext&)>;
// One verdict for each message, in order.
using BatchHandler = std::function<std::vector<Verdict>(std::span<const Message>, HandlerContext&)>;
using AsyncHandler = std::function<void(Delivery)>;

// What may be registered as a handler: it returns nothing, or the Verdict that counts. Whatever
// else it returned would be dropped unread, and its message would be done.
template <class F, class... Arguments>
concept CallableHandler =
    detail::Returns<F, void, Arguments...> || detail::Returns<F, Verdict, Arguments...>;
template <class F>
inline constexpr bool is_handler_v =
    CallableHandler<F, const Message&> || CallableHandler<F, const Message&, HandlerContext&>;
template <class F, class T>
inline constexpr bool is_typed_handler_v =
    CallableHandler<F, const T&> || CallableHandler<F, const T&, const Message&> ||
    CallableHandler<F, const T&, const Message&, HandlerContext&>;
// Its outcome is what its Delivery is told.
template <class F>
inline constexpr bool is_async_handler_v = detail::Returns<F, void, Delivery>;

// A type that a payload can be read into; see TypedMessage for the way there.
template <class T>
concept TypedPayload = std::default_initializable<T> && requires(std::string_view payload, T& out) {
    { T::topic } -> std::convertible_to<TopicName>;
    from_payload(payload, out);
};

// Routes: which handler a message goes to, by aggregate type and topic, exactly as written.
class Routes {
public:
    // One of the three handlers is set.
    struct Route {
        Handler handler{};
        bool in_transaction = false;
        BatchHandler batch{};
        std::uint32_t batch_max = 1;
        AsyncHandler async{};
        std::string destination{};           // on_matching(): whose circuit it has
        std::optional<RetryPolicy> retry{};  // on_matching(): in place of the dispatcher's
        std::shared_ptr<SendRate> rate{};    // on_matching(): nullptr: as fast as it goes
    };

    // `handler` is called with (const Message&) or (const Message&, HandlerContext&), and returns
    // nothing or a Verdict. Without an aggregate type it is AggregateType::global(). Throws
    // Error{misuse} when the pair has a handler, std::invalid_argument for an empty name or an
    // empty handler.
    template <class F>
    Routes& on(const TopicName& topic, F handler) {
        return add({}, topic, {.handler = adapt(std::move(handler))});
    }
    template <class F>
    Routes& on(const AggregateType& aggregate_type, const TopicName& topic, F handler) {
        return add(aggregate_type, topic, {.handler = adapt(std::move(handler))});
    }

    // As on(), for T::topic: the payload is read into a T first. A payload that from_payload()
    // cannot read makes the message dead. `handler` is called with (const T&), (const T&,
    // const Message&) or (const T&, const Message&, HandlerContext&).
    template <TypedPayload T, class F>
    Routes& on(F handler) {
        return add({}, TopicName(T::topic), {.handler = adapt_typed<T>(std::move(handler))});
    }

    // As on(), and the handler runs inside the transaction that marks the message done.
    template <class F>
    Routes& in_transaction(const TopicName& topic, F handler) {
        return add({}, topic, {.handler = adapt(std::move(handler)), .in_transaction = true});
    }
    template <class F>
    Routes& in_transaction(const AggregateType& aggregate_type, const TopicName& topic, F handler) {
        return add(aggregate_type, topic,
                   {.handler = adapt(std::move(handler)), .in_transaction = true});
    }
    template <TypedPayload T, class F>
    Routes& in_transaction(F handler) {
        return add({}, TopicName(T::topic),
                   {.handler = adapt_typed<T>(std::move(handler)), .in_transaction = true});
    }

    // As on(), for up to `batch_max` messages at a time, as many as are at hand. What the handler
    // throws counts for all of them, and so does a wrong number of verdicts (as a failed attempt).
    Routes& on_batch(const TopicName& topic, std::uint32_t batch_max, BatchHandler handler);
    Routes& on_batch(const AggregateType& aggregate_type, const TopicName& topic,
                     std::uint32_t batch_max, BatchHandler handler);

    // As on(), for a handler that settles the message later. Needs a Dispatcher: process_one()
    // throws Error{misuse}.
    template <class F>
    Routes& on_async(const TopicName& topic, F handler) {
        return add({}, topic, {.async = adapt_async(std::move(handler))});
    }
    template <class F>
    Routes& on_async(const AggregateType& aggregate_type, const TopicName& topic, F handler) {
        return add(aggregate_type, topic, {.async = adapt_async(std::move(handler))});
    }

    // As on_batch(), for every topic that `pattern` matches and that has no handler of its own,
    // whatever the aggregate type: '*' stands for any characters, or none. The first registered
    // pattern that matches counts. With a `destination` all these topics share its circuit, with
    // `retry` its policy and with `rate` its limit is theirs, unless DispatcherOptions::topics
    // names another.
    Routes& on_matching(std::string pattern, std::uint32_t batch_max, BatchHandler handler,
                        std::string destination = {}, std::optional<RetryPolicy> retry = {},
                        std::shared_ptr<SendRate> rate = nullptr);

    // The topics, and patterns of topics, that have a handler; each once, in order.
    std::vector<std::string> topics() const;
    // nullptr when nobody handles it.
    const Route* find(const Message& message) const;
    const Route* find(const std::string& aggregate_type, const std::string& topic) const;
    // That of the first pattern that matches; nullptr when there is none.
    const std::string* destination(std::string_view topic) const;
    const RetryPolicy* retry(std::string_view topic) const;
    SendRate* rate(std::string_view topic) const;

private:
    const Route* find_matching(std::string_view topic) const;
    Routes& add(const AggregateType& aggregate_type, const TopicName& topic, Route route);

    // An empty handler comes out empty, for add() to refuse.
    template <class F>
    static Handler adapt(F handler) {
        static_assert(is_handler_v<F>,
                      "a handler takes (const Message&) or (const Message&, HandlerContext&), and "
                      "returns void or postroom::Verdict; anything else would be ignored");
        if (detail::is_empty(handler)) return {};
        return [handler = std::move(handler)](const Message& m, HandlerContext& context) mutable {
            if constexpr (CallableHandler<F, const Message&, HandlerContext&>) {
                return detail::call_or_done<Verdict>(handler, m, context);
            } else if constexpr (is_handler_v<F>) {
                return detail::call_or_done<Verdict>(handler, m);
            }
        };
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
        static_assert(is_typed_handler_v<F, T>,
                      "a handler of T takes (const T&), (const T&, const Message&) or (const T&, "
                      "const Message&, HandlerContext&), and returns void or postroom::Verdict; "
                      "anything else would be ignored");
        if (detail::is_empty(handler)) return {};
        return [handler = std::move(handler)](const Message& m, HandlerContext& context) mutable {
            const T typed = read<T>(m);
            if constexpr (CallableHandler<F, const T&, const Message&, HandlerContext&>) {
                return detail::call_or_done<Verdict>(handler, typed, m, context);
            } else if constexpr (CallableHandler<F, const T&, const Message&>) {
                return detail::call_or_done<Verdict>(handler, typed, m);
            } else if constexpr (is_typed_handler_v<F, T>) {
                return detail::call_or_done<Verdict>(handler, typed);
            }
        };
    }

    template <class F>
    static AsyncHandler adapt_async(F handler) {
        static_assert(is_async_handler_v<F>,
                      "an asynchronous handler takes (Delivery) and returns void: its outcome is "
                      "what the Delivery is told; anything else would be ignored");
        if constexpr (is_async_handler_v<F>) return AsyncHandler(std::move(handler));
    }

    // By aggregate type and topic, which are looked up without being copied.
    struct ByName {
        using is_transparent = void;
        using Names = std::pair<std::string_view, std::string_view>;

        bool operator()(const Names& a, const Names& b) const { return a < b; }
    };
    std::map<std::pair<std::string, std::string>, Route, ByName> routes_;
    std::vector<std::pair<std::string, Route>> patterns_;  // in order of registration
    bool has_rates_ = false;                               // some of them
};

// What becomes of a message that nobody handles.
enum class Unroutable {
    retry,  // abandoned: perhaps a newer version of the program will know it
    dead,
    hold,  // released: looked at again after a while, costs no attempt
};

struct ProcessOptions {
    Unroutable unroutable = Unroutable::retry;
    std::function<void(const Message&)> on_unroutable{};  // hears of each, besides the observer
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
