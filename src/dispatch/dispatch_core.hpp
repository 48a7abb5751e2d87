// DispatchCore: the dispatcher without threads, loops and clock readings of its own.
//
// Each step does one round of one duty and says when it wants to be called again: claim_step()
// fetches messages, settle_step() settles outcomes, keep_step() renews leases, maintain_step()
// cleans up, report_step() writes down who is at work. Workers take() a message, run its handler,
// and finish() it. The threads that call them live in runtime/; the simulator and drain() call the
// same steps in one thread, on virtual time.
//
// The duties are classes of their own, over one state: see docs/internals/dispatcher.md. Store
// calls, handlers, observer and wake-ups run while the state is not locked. Times are `clock`'s,
// which need not agree with the database's; the offset between the two is learned from claims.
//
// Thread safety: may be shared; each step by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/claim_intake.hpp"
#include "dispatch/dispatch_state.hpp"
#include "dispatch/hand_out.hpp"
#include "dispatch/handler_calls.hpp"
#include "dispatch/hot_intake.hpp"
#include "dispatch/janitor.hpp"
#include "dispatch/lease_keeper.hpp"
#include "dispatch/settle_duty.hpp"
#include "dispatch/worker_reporter.hpp"
#include "postroom/dispatcher.hpp"
#include "queue/hot_path.hpp"

namespace postroom {

class DispatchCore final : public HotPath, public std::enable_shared_from_this<DispatchCore> {
public:
    // All of them must outlive the core. `routes` may be shared with others; nullptr: its own.
    DispatchCore(Store& store, const DispatcherOptions& options, const Clock& clock, Random& random,
                 std::shared_ptr<Routes> routes = nullptr)
        : setup_(store, options, clock, random, std::move(routes)) {}

    // Before the first step.
    Routes& routes() { return setup_.routes; }
    void intercept(std::shared_ptr<Interceptor> interceptor) {
        calls_.intercept(std::move(interceptor));
    }
    // Who this process is: without it, nothing is reported.
    void introduce(WorkerIdentity identity) { reporter_.introduce(std::move(identity)); }
    void connect(WakeUps wake_ups) { notifier_.connect(std::move(wake_ups)); }
    // The loops have ended: nobody is woken any more, and outcomes that still come in are ignored.
    void disconnect();
    // After that: what a writer handed over between the last step and then is released.
    void settle_late() { settling_.step(setup_.clock.now(), /*all=*/true); }

    Instant claim_step(Instant now, std::stop_token stop = {});
    Instant settle_step(Instant now, bool all = false) { return settling_.step(now, all); }
    Instant keep_step(Instant now) { return keeper_.step(now); }
    Instant maintain_step(Instant now, const std::stop_token& stop = {}) {
        return janitor_.step(now, stop);
    }

    // A dispatcher with nothing to do reports once in `idle_interval`.
    Instant report_step(Instant now, Duration idle_interval) {
        return reporter_.step(now, idle_interval);
    }
    // The last report: that it has stopped.
    void sign_off() { reporter_.sign_off(); }

    // The next message to handle, if one may start now.
    std::optional<Work> take(Instant now) { return hand_out_.take(now); }
    // Calls the handler, and finish() when it is through with it. An asynchronous one may do that
    // later, from any thread.
    void run(Work work);
    // One run for each message.
    void finish(Work work, std::vector<HandlerRun> runs, Instant now) {
        hand_out_.finish(std::move(work), std::move(runs), now);
    }

    // No message is here that no handler has finished.
    bool drained() const;
    // Nothing is claimed or started any more; what waits is released.
    void begin_close();
    void request_stop_of_handlers();
    // Nothing runs and nothing waits to be settled.
    bool idle() const;
    bool all_settled() const;

    // For the loops: something outside the core failed and was given up.
    void store_failed(std::string_view operation, std::string_view error) const {
        notifier_.store_failed(operation, error);
    }
    // How often calls of the store have failed.
    std::uint64_t failures() const { return notifier_.failures(); }
    // How many messages the last claim brought; one that failed brought none.
    std::size_t last_claimed() const { return intake_.last_claimed(); }
    // Whether something that was claimed waits for a worker.
    bool has_cold() const { return StateView(shared_)->queues.cold_ready() > 0; }

    void pause(const std::string& topic);
    void resume(const std::string& topic);
    // Whether the destination was being left alone, and may now be tried.
    bool probe(const std::string& destination, Instant now);
    DispatcherStatus status() const;
    const OwnerToken& owner() const { return setup_.owner; }
    const DispatcherOptions& options() const { return setup_.options; }

    std::optional<BornLease> reserve(std::span<const NewMessage> messages) override {
        return hot_.reserve(messages);
    }
    void hand_over(const BornLease& born, std::vector<Message> messages, bool certain) override {
        hot_.hand_over(born, std::move(messages), certain);
    }
    void give_back(const BornLease& born) override { hot_.give_back(born); }
    void nudge() override { intake_.nudge(); }
    // The doorbell rang.
    void rung() { intake_.rung(); }

private:
    const DispatchSetup setup_;
    Notifier notifier_{setup_};
    SharedState shared_{setup_};
    // The duties.
    ClaimIntake intake_{setup_, shared_, notifier_};
    HotIntake hot_{setup_, shared_, notifier_};
    HandOut hand_out_{setup_, shared_, notifier_};
    HandlerCalls calls_{setup_, notifier_};
    SettleDuty settling_{setup_, shared_, notifier_};
    LeaseKeeper keeper_{setup_, shared_, notifier_};
    Janitor janitor_{setup_, shared_, notifier_, intake_};
    WorkerReporter reporter_{setup_, shared_, notifier_};
};

}  // namespace postroom
