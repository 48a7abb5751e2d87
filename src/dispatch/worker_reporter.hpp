// WorkerReporter: writes down in the store who is at work here, how fast, and what it waits for,
// for operators to read (operator.hpp).
//
// Every few seconds while there is something to do, at once when a circuit opens or closes, and
// rarely otherwise: a thousand idle stores must not cost anything to speak of. A report that fails
// is given up for a while; nothing else depends on it.
//
// Thread safety: step() and sign_off() by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "dispatch/dispatch_state.hpp"
#include "postroom/operator.hpp"

namespace postroom {

struct WorkerIdentity {
    std::string host{};
    std::int64_t pid = 0;
    std::string version{};
};

class WorkerReporter {
public:
    WorkerReporter(const DispatchSetup& setup, SharedState& shared, const Notifier& notifier)
        : setup_(setup),
          shared_(shared),
          notifier_(notifier),
          controls_(controls_of(setup.store)) {}

    // Before the first step. Without it, nothing is reported.
    void introduce(WorkerIdentity identity) { identity_ = std::move(identity); }

    // When to come again.
    Instant step(Instant now, Duration idle_interval);
    void sign_off();

private:
    WorkerReport next_report(Instant now, Duration idle_interval);

    const DispatchSetup& setup_;
    SharedState& shared_;
    const Notifier& notifier_;
    StoreControls* const controls_;
    WorkerIdentity identity_{};

    // Of whoever takes the steps.
    Instant started_{};
    Instant last_{};      // the last report; the beginning of what the rates are about
    Instant next_{};      // when another is due, if nothing happens
    bool known_ = false;  // the store has a report
    bool failed_ = false;
};

}  // namespace postroom
