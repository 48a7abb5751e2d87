#include "dispatch/dispatch_state.hpp"

#include <algorithm>
#include <utility>

#include "queue/trace_headers.hpp"

namespace postroom {

namespace {

// An acknowledgement for which nobody waits is patient: the more come together, the less each
// costs.
Duration patient_delay(const DispatcherOptions& options) {
    return std::clamp(5 * options.settle_delay, options.settle_delay,
                      std::max(options.settle_delay, options.lease / 30));
}

}  // namespace

DispatchState::DispatchState(const DispatchSetup& setup)
    : options(setup.options),
      pacer({.batch = options.batch, .poll_interval_max = options.poll_interval_max}),
      born(options.lease),
      queues(options.hot_capacity, options.cold_capacity),
      isolation({.slots = options.worker_count,
                 .crash_limit = options.crash_limit,
                 .lease = options.lease}),
      circuits({.open_for = options.circuit_open_for, .open_for_max = options.circuit_open_for_max},
               options.worker_count),
      in_flight(options.lease, options.in_flight_ttl),
      // What was claimed together is settled together: a store does so at one stroke.
      settler({.batch = std::max<std::size_t>(options.settle_batch, options.batch),
               .delay = patient_delay(options),
               .hurried_delay = options.settle_delay}) {}

bool DispatchState::overloaded() const {
    return settler.size() + settling >= options.hot_capacity + options.cold_capacity;
}

// One batch ahead of the workers is enough; the rest is left for other processes. An isolated
// message is not joined by others. Nor is anything fetched while outcomes pile up that cannot be
// settled: they are held in memory like the messages. A claim that overtook the answer for lost
// messages on their way back might bring more of them each time, and nothing would ever start.
std::size_t DispatchState::claim_room() const {
    if (closing || queues.cold_ready() >= options.batch || overloaded()) return 0;
    if (untold > 0 || queues.cold_bytes() >= options.claim_bytes) return 0;
    if (isolation.active() && !(isolation.draining() && quiet())) return 0;
    return queues.cold_room();
}

// Around an isolated message, what writers have handed over meanwhile stays where it is.
std::size_t DispatchState::startable() const {
    if (closing || untold > 0 || isolation.running()) return 0;
    if (isolation.holds_one()) return quiet() ? 1 : 0;
    const std::size_t parked = async_full() ? 0 : queues.parked_size();
    return parked + queues.cold_ready() + (isolation.draining() ? 0 : queues.hot_ready());
}

bool DispatchState::hurries(const Message& message, const Settlement& settlement) const {
    return settlement.outcome != Outcome::ack || !message.ordering_key.empty() ||
           isolation.active() || isolation.care(message) != Care::usual || closing;
}

void DispatchState::settle_unstarted(Message message, Settlement settlement, Instant now) {
    in_flight.finish(settlement.lease);
    const bool hurried = hurries(message, settlement);
    const bool was_lost = isolation.care(message) != Care::usual;
    Outgoing out = outgoing(message, std::move(settlement), now, now);
    out.others_wait = was_lost;
    settler.add(std::move(out), now, hurried);
    if (!was_lost) return;
    ++untold;
    settler.hurry(now);
}

void DispatchState::release_at_close(Message message, Instant now) {
    Settlement back = released(message, Duration::zero(), "the dispatcher stops");
    settle_unstarted(std::move(message), std::move(back), now);
}

void DispatchState::release_unverified(Instant now) {
    for (Unverified& one : std::exchange(unverified, {})) {
        queues.give_back_hot(1);
        release_at_close(std::move(one.message), now);
    }
}

Outgoing DispatchState::outgoing(Message& message, Settlement settlement, Instant started,
                                 Instant ended) const {
    Outgoing out{.settlement = std::move(settlement), .took = ended - started, .ended = ended};
    // With a key it must be safe: a redelivery would come after later messages of the key.
    out.settlement.relaxed = message.ordering_key.empty();
    if (is_failed_attempt(out.settlement.outcome, out.settlement.reason)) {
        // A message's own lease stays as it was claimed, also when it is renewed.
        out.settlement.claimed_at = out.settlement.lease.locked_until - options.lease;
        out.settlement.took = out.took;
    }
    message.payload.clear();
    keep_trace_headers(message.headers);
    out.message = std::make_unique<const Message>(std::move(message));
    return out;
}

void DispatchState::accept_hot(Message message, Instant reserved_at) {
    if (offset) {
        // Of the database's clock, as of a message that was claimed.
        message.created_at = message.available_at = reserved_at + *offset;
        message.lease->locked_until = message.created_at + options.lease;
    }
    if (in_flight.add(*message.lease, reserved_at)) {
        queues.push_hot(std::move(message));
    } else {
        queues.give_back_hot(1);
    }
}

void DispatchState::expect_turns(Instant now) {
    // A message is stored as given back a little later than its rest begins.
    constexpr Duration stored_within = std::chrono::milliseconds{10};
    std::erase_if(slowed, [now](const auto& rate) { return rate.second < now; });
    for (const auto& [rate, last_turn] : slowed) {
        const Instant turn = rate->next_turn(now);
        if (turn < Instant::max()) pacer.expected(now, turn + stored_within);
    }
}

void DispatchState::leave(Care care, const WorkItemId& id, Instant now) {
    if (care == Care::suspect && isolation.free_slot(now)) pacer.nudged();
    if (care == Care::isolated) isolation.finished(id, now);
}

Event DispatchState::depths() const {
    return {.kind = EventKind::queue_depths,
            .hot_depth = queues.hot_size(),
            .cold_depth = queues.cold_size(),
            .hot_capacity = options.hot_capacity,
            .cold_capacity = options.cold_capacity,
            .in_flight = in_flight.size()};
}

StateLock::StateLock(SharedState& shared, Effects& effects)
    : shared_(shared),
      state_(shared.lock()),
      effects_(effects),
      startable_(state_.startable()),
      room_(state_.claim_room() > 0),
      settler_comes_(state_.settler.next_due()),
      report_due_(state_.report_due()),
      holds_some_(state_.in_flight.size() > 0) {}

StateLock::~StateLock() {
    const std::size_t startable = state_.startable();
    if (startable > startable_) effects_.workers = startable - startable_;
    if (!room_ && state_.claim_room() > 0) effects_.poller = true;
    if (state_.settler.next_due() < settler_comes_) effects_.settler = true;
    if (const Instant due = state_.keeper_due(); due < state_.keeper_comes) {
        state_.keeper_comes = due;
        effects_.keeper = true;
    }
    if (!report_due_ && state_.report_due()) effects_.reporter = true;
    // It may be long until somebody looks again.
    if (holds_some_ && state_.in_flight.size() == 0) effects_.depths = state_.depths();
    shared_.unlock();
}

}  // namespace postroom
