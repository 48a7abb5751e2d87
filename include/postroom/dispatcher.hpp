// Dispatcher: brings messages to their handlers, from the outbox or from the inbox.
//
//   Dispatcher dispatcher(*store);
//   dispatcher.routes().on("order.placed", [](const Message& m) { send_mail(m.payload); });
//   dispatcher.start();
//
// Messages that an Outbox of the same process commits on this store are handed over in memory and
// handled at once (hot path); everything else is claimed (cold path): what other processes wrote,
// what failed and is due again, what was left by a worker that died. A message is delivered at
// least once; it may come again after a crash or when its lease is lost, and never to two handlers
// at the same time within its lease. Leases are renewed as long as a handler runs.
//
// A handler that returns is done; one that throws is tried again after a back-off (see
// handler.hpp). Memory is bounded by the capacities below: when handlers are slow, messages wait in
// the database.
//
// One dispatcher serves one store or, through a StoreProvider, as many as there are, with the same
// threads: each store has queues, circuits and a back-off of its own, so one that is down or slow
// does not hold up the others. Options that speak of capacities are for each store. A store that is
// removed while the dispatcher runs is no longer claimed from; its messages at hand are released,
// its handlers finish.
//
// Lifetime: the store or the provider must outlive the dispatcher. close() or the destructor end
// it. Thread safety: routes and interceptors are registered, and start() and close() called, by one
// thread, which is not one that runs a handler; everything else may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postroom/detail/callable.hpp"
#include "postroom/handler.hpp"
#include "postroom/observer.hpp"
#include "postroom/retry_policy.hpp"
#include "postroom/send_rate.hpp"
#include "postroom/store.hpp"
#include "postroom/tenancy.hpp"

namespace postroom {

// What differs for one topic.
struct TopicOptions {
    std::optional<RetryPolicy> retry{};
    std::string destination{};  // topics that share it share a circuit; empty: the topic itself
    bool frees_key = false;     // a dead message does not block its ordering key
    std::shared_ptr<SendRate> rate{};  // nullptr: as fast as it goes
};

// What close() does with messages that are in memory and have not been started.
enum class OnClose : std::uint8_t {
    release,  // they are free for others at once
    drain,    // they are handled, up to `drain_timeout`; what is left then is released
};

struct DispatcherOptions {
    Queue queue = Queue::outbox;
    OwnerToken owner{};  // nil: a new one
    Duration lease = std::chrono::seconds{30};
    std::uint32_t worker_count = 4;  // handlers that run at the same time
    std::uint32_t batch = 50;        // messages per claim
    // Payloads and headers per claim; nor is anything claimed while as much waits to be started.
    std::size_t claim_bytes = claim_bytes_default;
    std::size_t hot_capacity = 1000;   // handed over and not started; 0: no hot path
    std::size_t cold_capacity = 1000;  // claimed and not started
    std::size_t async_max = 1000;      // asynchronous deliveries under way
    Duration in_flight_ttl{};          // a handler that runs longer is given up; 0: never

    RetryPolicy retry{};
    Unroutable unroutable = Unroutable::retry;
    std::uint32_t crash_limit = 3;  // a message that is lost more often is dead
    std::map<std::string, TopicOptions> topics{};
    Duration hold_delay = std::chrono::seconds{15};  // rest of messages that are held or paused
    Duration circuit_open_for = std::chrono::seconds{1};  // doubled by each failed probe
    Duration circuit_open_for_max = std::chrono::seconds{60};

    Duration poll_interval_max = std::chrono::seconds{5};  // when idle and nobody rings
    bool wake_ups = true;                                  // listen for other processes' messages
    Duration settle_delay = std::chrono::milliseconds{2};  // wait for other outcomes; acks up to 5x
    std::size_t settle_batch = 200;  // outcomes in one call, or as many as `batch`
    Duration drain_timeout = std::chrono::seconds{5};
    OnClose on_close = OnClose::release;

    Duration reap_interval = std::chrono::seconds{4};
    Duration purge_interval = std::chrono::minutes{10};
    std::optional<Duration> retention{};  // none: outbox 7 days, inbox 30 days; zero: never purge
    // Of the done messages of the store's other queue, for a process that serves only one of them;
    // zero: not purged here.
    Duration other_queue_retention{};
    // Dead messages this long after they were enqueued are discarded; zero: never.
    Duration dead_retention{};

    // Of many stores: which is polled next; nullptr: RoundRobin.
    std::shared_ptr<const SelectionStrategy> strategy{};
    // Threads for the calls of stores, whatever their number. A single store needs no more than 4.
    std::uint32_t store_threads = 8;
    // A store in which nothing waits, and whose doorbell misses nothing, is visited this often.
    Duration quiet_poll_interval = std::chrono::minutes{10};

    Observer* observer = nullptr;  // nullptr: default_observer(). Must outlive the dispatcher
    Random* random = nullptr;      // nullptr: the system's. Must outlive the dispatcher
};

// Throws std::invalid_argument or std::out_of_range naming the option and its limit.
void validate(const DispatcherOptions& options, const Limits& limits);

// Of all stores together.
// A store that was asked something and has not answered.
struct StoreWait {
    std::string store{};      // its id
    std::string operation{};  // the longest that is waited for: "claim", "settle"
    Duration waited{};
};

struct DispatcherStatus {
    std::size_t stores = 0;
    std::size_t hot_depth = 0;
    std::size_t cold_depth = 0;
    std::size_t running = 0;    // handlers called and not finished, asynchronous ones included
    std::size_t in_flight = 0;  // leases held
    std::vector<std::string> paused{};
    std::vector<std::string> open_circuits{};
};

class Dispatcher {
public:
    // Throws as validate() does.
    explicit Dispatcher(Store& store, const DispatcherOptions& options = {});
    // Over all stores of `stores`, those that come later included.
    explicit Dispatcher(StoreProvider& stores, const DispatcherOptions& options = {});
    ~Dispatcher();
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    // Where handlers are registered, before start(). Error{misuse} after it.
    Routes& routes();
    template <class... Arguments>
    Dispatcher& on(Arguments&&... arguments) {
        routes().on(std::forward<Arguments>(arguments)...);
        return *this;
    }
    template <TypedPayload T, class F>
    Dispatcher& on(F handler) {
        routes().template on<T>(std::move(handler));
        return *this;
    }

    // Runs around every handler; before start(). A hook takes what the function of Interceptor does
    // and returns nothing. std::invalid_argument for none.
    Dispatcher& intercept(std::shared_ptr<Interceptor> interceptor);
    template <class F>
    Dispatcher& before(F hook) {
        static_assert(detail::Returns<F, void, const Message&>,
                      "a hook before handlers takes (const Message&) and returns void: what keeps "
                      "the handler from being called is an exception");
        return add_before(std::move(hook));
    }
    template <class F>
    Dispatcher& after(F hook) {
        static_assert(detail::Returns<F, void, const Message&, std::string_view>,
                      "a hook after handlers takes (const Message&, std::string_view error) and "
                      "returns void");
        return add_after(std::move(hook));
    }

    // Starts the threads. Error{misuse} when it was started or closed before.
    void start();

    // No new messages; what has not been started is released for others, or handled first
    // (`on_close`); handlers that run get `drain_timeout` to finish, then their stop tokens are
    // requested and they are waited for; asynchronous deliveries get that time once more. All
    // outcomes are settled before this returns, unless the database stays away for the longer of
    // `drain_timeout` and 5 s. Closing again does nothing.
    void close();

    // Messages of this topic are held back in this process, from now on until resumed: those at
    // hand are released and looked at again every `hold_delay`. Costs no attempt. `topic` may be a
    // pattern, as in on_matching(); it is resumed by the same text.
    void pause(const std::string& topic);
    void resume(const std::string& topic);
    // In the store with this id exactly `topics` are held back from now on, besides those that are
    // paused everywhere. For a list that lies in the store itself: see operator.hpp.
    void pause_in(const std::string& store_id, std::set<std::string> topics);

    // Something was committed that this process could not see, such as what Outbox::statement() was
    // used for: look now.
    void nudge();

    // A destination that was down when last tried is tried again with the next message for it,
    // instead of when its time comes. Returns the ids of the stores in which it was left alone.
    // What waits for it in the database still waits there, unless an operator retries it now.
    std::vector<std::string> probe(const std::string& destination);

    DispatcherStatus status() const;
    // One for each store that has been silent for a second. Waits for nobody.
    std::vector<StoreWait> waits() const;
    // Whose leases its messages have: one token for all of its stores.
    const OwnerToken& owner() const;

private:
    class Threads;

    void require_unstarted(const char* what) const;
    Dispatcher& add_before(std::function<void(const Message&)> hook);
    Dispatcher& add_after(std::function<void(const Message&, std::string_view)> hook);

    const std::unique_ptr<Threads> threads_;
};

}  // namespace postroom
