// HandOut: gives messages to workers, and takes back what their handlers made of them.
//
// Thread safety: may be shared.
#pragma once

#include <optional>
#include <vector>

#include "dispatch/dispatch_state.hpp"
#include "dispatch/refusals.hpp"
#include "dispatch/work.hpp"
#include "queue/handler_run.hpp"

namespace postroom {

class HandOut {
public:
    HandOut(const DispatchSetup& setup, SharedState& shared, const Notifier& notifier)
        : setup_(setup), refusals_(setup), shared_(shared), notifier_(notifier) {}

    // The next message to handle, if one may start now.
    std::optional<Work> take(Instant now);
    // One run for each message.
    void finish(Work work, std::vector<HandlerRun> runs, Instant now);

private:
    static std::optional<QueuedMessage> next_message(DispatchState& state, Instant now);
    // Starts it, or settles it and returns nullopt.
    std::optional<Work> start(DispatchState& state, Effects& effects, QueuedMessage& queued,
                              const Routes::Route* route, Instant now) const;
    void add_to_batch(DispatchState& state, Work& work, Path path, Instant now) const;

    Settlement settlement(const DispatchState& state, const Message& message,
                          const Verdict& verdict, Instant now) const;
    void settle(DispatchState& state, Effects& effects, Message message, HandlerRun& run,
                const Work& work, Instant now) const;
    static void judge_destination(DispatchState& state, Effects& effects, const Work& work,
                                  const Verdict& verdict, Instant now);

    const DispatchSetup& setup_;
    const Refusals refusals_;
    SharedState& shared_;
    const Notifier& notifier_;
};

}  // namespace postroom
