// DispatchCore: the dispatcher without threads, loops and clock readings of its own.
//
// Each step does one round of one duty and says when it wants to be called again: claim_step()
// fetches messages, settle_step() settles outcomes, keep_step() renews leases, tend_step() cleans
// up. Workers take() a message, run its handler, and finish() it. The threads that call them live
// in runtime/; the simulator and drain() call the same steps in one thread, on virtual time.
//
// Store calls and handlers run outside the mutex. Times are `clock`'s, which need not agree with
// the database's; the offset between the two is learned from claims.
//
// Thread safety: may be shared; each step by one thread at a time.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/dispatcher.hpp"
#include "queue/circuit.hpp"
#include "queue/claim_pacer.hpp"
#include "queue/dispatch_queues.hpp"
#include "queue/handler_run.hpp"
#include "queue/in_flight.hpp"
#include "queue/settler.hpp"

namespace postroom {

// What the loops around the core are told. Hints: a missed one costs time, not correctness.
struct WakeUps {
    std::function<void(std::size_t count)> workers{};  // so many have something to do
    std::function<void()> poller{};
    std::function<void()> settler{};
    std::function<void()> keeper{};
};

// Messages for one call of one handler.
struct Work {
    std::vector<Message> messages{};  // several for a batch handler only
    const Routes::Route* route = nullptr;
    std::stop_source stop{};
    std::string destination{};
    Instant started{};
    bool lonely = false;
};

class DispatchCore final : public HotPath, public std::enable_shared_from_this<DispatchCore> {
public:
    // All of them must outlive the core. `routes` may be shared with others; nullptr: its own.
    DispatchCore(Store& store, const DispatcherOptions& options, const Clock& clock, Random& random,
                 std::shared_ptr<Routes> routes = nullptr);
    ~DispatchCore() override;

    // Before the first step.
    Routes& routes() { return routes_; }
    void intercept(std::shared_ptr<Interceptor> interceptor);
    void connect(WakeUps wake_ups);
    // The loops have ended: nobody is woken any more, and outcomes that still come in are ignored.
    void disconnect();

    Instant claim_step(Instant now, std::stop_token stop = {});
    Instant settle_step(Instant now, bool all = false);
    Instant keep_step(Instant now);
    Instant tend_step(Instant now, std::stop_token stop = {});

    // The next message to handle, if one may start now.
    std::optional<Work> take(Instant now);
    // Calls the handler, and finish() when it is through with it. An asynchronous one may do that
    // later, from any thread.
    void run(Work work);
    // One run for each message.
    void finish(Work work, std::vector<HandlerRun> runs, Instant now);

    // Nothing is claimed or started any more; what waits is released.
    void begin_close();
    void request_stop_of_handlers();
    // Nothing runs and nothing waits to be settled.
    bool idle() const;
    bool all_settled() const;

    // For the loops: something outside the core failed and was given up.
    void store_failed(std::string_view operation, std::string_view error) const;
    // How often calls of the store have failed.
    std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }
    // How many messages the last claim brought; one that failed brought none.
    std::size_t last_claimed() const { return last_claimed_.load(std::memory_order_relaxed); }
    // Whether something that was claimed waits for a worker.
    bool has_cold() const {
        const base::MutexLock lock(mutex_);
        return queues_.cold_ready() > 0;
    }

    void pause(const std::string& topic);
    void resume(const std::string& topic);
    DispatcherStatus status() const;
    const OwnerToken& owner() const { return owner_; }
    const DispatcherOptions& options() const { return options_; }

    std::optional<BornLease> reserve(std::span<const NewMessage> messages) override;
    void hand_over(const BornLease& born, std::vector<Message> messages, bool certain) override;
    void give_back(const BornLease& born) override;
    void nudge() override;
    // The doorbell rang.
    void rung();

private:
    struct Reservation {
        std::size_t count = 0;  // messages
        Instant at{};
        std::size_t sharers = 0;  // writers that have this lease, for so many messages each
    };
    struct Unverified {
        Message message{};
        Instant at{};
    };
    // A reason not to start a message now, and what to do with it instead.
    struct Refusal {
        Settlement settlement{};
        bool unroutable = false;
    };

    const TopicOptions* topic_options(const std::string& topic) const;
    const RetryPolicy& retry_policy(const std::string& topic) const;
    const std::string& destination(const std::string& topic) const;
    Settlement settlement(const Message& message, const Verdict& verdict, Instant now)
        POSTROOM_REQUIRES(mutex_);
    static Settlement release(const Message& message, Duration delay, std::string why);

    std::size_t claim_room() const POSTROOM_REQUIRES(mutex_);
    // Puts what was claimed where it belongs; returns how many of them can be delivered.
    std::size_t admit(Instant now, std::vector<Message>& claimed, std::vector<Message>& unroutable)
        POSTROOM_REQUIRES(mutex_);
    // `route`: the message's, if it has one.
    std::optional<Refusal> refusal(const Message& message, const Routes::Route* route,
                                   Instant now) const POSTROOM_REQUIRES(mutex_);
    Refusal unroutable(const Message& message, Settlement dead) const POSTROOM_REQUIRES(mutex_);
    bool is_lonely(const Message& message) const;
    LeaseId born_lease(std::size_t count, Instant now) POSTROOM_REQUIRES(mutex_);
    // Ends one that is there.
    std::optional<Reservation> end_reservation(const BornLease& born) POSTROOM_REQUIRES(mutex_);
    void settle_later(Message message, Settlement settlement, Instant now)
        POSTROOM_REQUIRES(mutex_);
    Outgoing outgoing(Message& message, Settlement settlement, Duration took) const;
    // Whether somebody waits for its outcome: another message of its key, or one to be handled
    // alone; or whoever is to have it next.
    bool hurries(const Message& message, const Settlement& settlement) const
        POSTROOM_REQUIRES(mutex_);
    // Whether the keeper has to be told: it would come too late for what was added.
    bool keeper_waits() POSTROOM_REQUIRES(mutex_);
    void verify();
    Instant verify_again_at(Instant now) const;
    void release_now(std::span<const Settlement> settlements) noexcept;
    void release_at_close(Message message) POSTROOM_REQUIRES(mutex_);
    void accept_hot(Message message, Instant reserved_at) POSTROOM_REQUIRES(mutex_);

    std::optional<QueuedMessage> next_message() POSTROOM_REQUIRES(mutex_);
    bool lonely_may_start() const POSTROOM_REQUIRES(mutex_);
    // Starts it, or settles it and returns nullopt.
    std::optional<Work> start(QueuedMessage& queued, const Routes::Route* route, Instant now,
                              std::vector<Message>& unroutable) POSTROOM_REQUIRES(mutex_);
    void add_to_batch(Work& work, Path path, Instant now) POSTROOM_REQUIRES(mutex_);

    std::vector<HandlerRun> run_handlers(const Work& work);
    std::vector<HandlerRun> run_intercepted(const Work& work);
    void run_async(Work work);
    // Calls before() of the interceptors; how many were called, and what one of them threw.
    struct Entered {
        std::size_t count = 0;
        std::optional<Verdict> refused{};
    };
    Entered before(const Message& message) const;
    void after(const Message& message, std::string_view error, std::size_t entered) const;

    // Tells the circuit of the destination how it went; what is to be told about that.
    std::optional<Event> judge(const Work& work, const Verdict& verdict, Instant now)
        POSTROOM_REQUIRES(mutex_);
    void tell(const Outgoing& outgoing, Settled settled) const;
    void tell_figures();
    void observe(Event event) const;
    // Without payload and headers.
    void observe(EventKind kind, const Message& message, std::string_view error = {}) const;
    bool expired(const Message& message, Instant now) const POSTROOM_REQUIRES(mutex_) {
        return message.expires_at && offset_ && *message.expires_at <= now + *offset_;
    }
    // Gives up waiting for a message to be handled alone. Whether anything was.
    bool end_long_solitude(Instant now) POSTROOM_REQUIRES(mutex_);
    void wake(const std::function<void()> WakeUps::*whom) const;
    void wake_workers(std::size_t count) const;
    // Whether the settler's loop has to be told: it would come at `due`, which is too late by now.
    bool settler_waits(Instant due) const POSTROOM_REQUIRES(mutex_) {
        return settler_.next_due() < due;
    }

    // Constant after construction, or after the first step.
    Store& store_;
    const DispatcherOptions options_;
    const OwnerToken owner_;
    const Clock& clock_;
    Random& random_;
    const std::shared_ptr<Routes> shared_routes_;
    Routes& routes_;
    std::vector<std::shared_ptr<Interceptor>> interceptors_;

    // Synchronize themselves.
    mutable std::atomic<std::uint64_t> failures_{0};
    std::atomic<std::size_t> last_claimed_{0};

    // The janitor's thread only.
    Instant next_reap_{};
    Instant next_purge_{};

    mutable base::Mutex wake_mutex_;
    std::shared_ptr<const WakeUps> wake_ups_ POSTROOM_GUARDED_BY(wake_mutex_);

    mutable base::Mutex mutex_;
    DispatchQueues queues_ POSTROOM_GUARDED_BY(mutex_);
    InFlight in_flight_ POSTROOM_GUARDED_BY(mutex_);
    Instant keeper_comes_ POSTROOM_GUARDED_BY(mutex_) = Instant::max();
    ClaimPacer pacer_ POSTROOM_GUARDED_BY(mutex_);
    Settler settler_ POSTROOM_GUARDED_BY(mutex_);
    Circuits circuits_ POSTROOM_GUARDED_BY(mutex_);
    std::set<std::string> paused_ POSTROOM_GUARDED_BY(mutex_);
    std::map<LeaseId, Reservation> reservations_ POSTROOM_GUARDED_BY(mutex_);
    LeaseId shared_born_ POSTROOM_GUARDED_BY(mutex_){};  // of single messages, until ...
    Instant shared_born_ends_ POSTROOM_GUARDED_BY(mutex_){};
    std::vector<Unverified> unverified_ POSTROOM_GUARDED_BY(mutex_);
    std::optional<Message> lonely_ POSTROOM_GUARDED_BY(mutex_);  // waits to be handled alone
    Instant lonely_since_ POSTROOM_GUARDED_BY(mutex_){};
    bool alone_ POSTROOM_GUARDED_BY(mutex_) = false;  // it runs
    Instant alone_since_ POSTROOM_GUARDED_BY(mutex_){};
    bool closing_ POSTROOM_GUARDED_BY(mutex_) = false;
    bool closed_ POSTROOM_GUARDED_BY(mutex_) = false;
    std::size_t running_ POSTROOM_GUARDED_BY(mutex_) = 0;
    std::size_t running_async_ POSTROOM_GUARDED_BY(mutex_) = 0;
    std::size_t settling_ POSTROOM_GUARDED_BY(mutex_) = 0;  // taken from the settler, not back yet
    std::size_t telling_ POSTROOM_GUARDED_BY(mutex_) = 0;   // on their way to the observer
    // The database's clock minus ours, once it is known.
    std::optional<Duration> offset_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom
