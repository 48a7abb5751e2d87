// Isolation: how messages are delivered that were lost with a worker before. One of them may have
// killed it. Pure.
//
// A suspect was lost once, most likely because it was near when something else happened. It gets a
// call of its own beside everything else, and there are never more suspects in memory than slots,
// so a crash brings no more than these under stronger suspicion. The others are sent back, spaced
// as slots become free.
//
// A message that was lost again is isolated: it is kept by nobody while others run, and delivered
// while this dispatcher delivers nothing else. So the loss that makes it dead is its own, unless
// something else in the process crashed. The dispatcher drains itself first, for one lease at the
// longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "postroom/message.hpp"

namespace postroom {

// How carefully a message has to be delivered.
enum class Care : std::uint8_t { usual, suspect, isolated };

struct IsolationOptions {
    std::size_t slots = 1;  // suspects at a time
    std::uint32_t crash_limit = 3;
    Duration lease{};
};

class Isolation {
public:
    explicit Isolation(const IsolationOptions& options)
        : options_(options), pause_(options.lease) {}

    // A loss that would make a message dead is never risked in company.
    Care care(const Message& message) const;

    // A claim returned, when nothing else was in memory (`quiet`) or not. What it brought has to be
    // shown to admit(), isolated ones first.
    void claimed(bool quiet);
    // Whether the message is to be kept: nullopt, and a suspect has a slot from now on, an isolated
    // one waits for its start. Otherwise how long it is to be sent back for.
    std::optional<Duration> admit(const Message& message, Instant now);

    // A suspect has ended, or has not been started after all. Whether others wait for its slot.
    bool free_slot(Instant now);

    // Everything else has to end, and nothing but a claim in quiet may follow.
    bool draining() const { return phase_ == Phase::draining; }
    void hold(Message message) { held_ = std::move(message); }
    bool holds_one() const { return held_.has_value(); }
    // The one that is held, to start it, or to give it back.
    Message start(Instant now);
    std::optional<Message> give_back();
    // Whether one runs that nothing may run beside.
    bool running() const { return phase_ == Phase::running; }
    bool active() const { return phase_ != Phase::none; }
    // A message that was started here has ended. Whether others may run again by that: they get as
    // much time as it took before another one is isolated.
    bool finished(const WorkItemId& id, Instant now);

    // Whether the others have waited for a lease, and so go on whatever happens.
    bool overdue(Instant now) const { return active() && now >= ends_by(); }
    // When that will be; Instant::max() when nobody waits.
    Instant ends_by() const;
    // They do, and the next attempt is later each time. One that was waiting to start, to be sent
    // back for a lease.
    std::optional<Message> give_up(Instant now);

private:
    enum class Phase : std::uint8_t { none, draining, held, running };

    Duration sent_back_for(Instant now);

    const IsolationOptions options_;
    // Suspects.
    std::size_t slots_used_ = 0;
    Instant busy_since_{};    // when the first of the present ones came
    std::int64_t freed_ = 0;  // slots, since then
    Instant next_free_{};     // when the next slot is expected that is not spoken for
    // Isolated ones.
    Phase phase_ = Phase::none;
    Instant since_{};
    std::optional<Message> held_;
    WorkItemId running_{};
    bool quiet_ = false;    // at the last claim
    Instant not_before_{};  // after draining in vain, or one that ran
    Duration pause_;        // after draining in vain once more
};

}  // namespace postroom
