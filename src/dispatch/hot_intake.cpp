#include "dispatch/hot_intake.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "queue/hot_path.hpp"

namespace postroom {

namespace {

constexpr Duration verify_pause = std::chrono::milliseconds{100};  // after a failure

}  // namespace

// Keys, times and low priorities are judged by the database, or by order: not ours to deliver at
// once.
bool HotIntake::may_be_born_leased(const DispatchState& state, const NewMessage& message,
                                   Instant now) const {
    if (!message.idempotency_key.empty() || message.due_time || message.expires_at ||
        !message.ordering_key.empty() || message.priority < 0)
        return false;
    const std::string& topic = message.topic.str();
    const SendRate* const rate = setup_.rate(topic);
    if (rate != nullptr && !rate->has(now)) return false;
    return !state.paused.holds(topic) && state.circuits.may_start(setup_.destination(topic), now) &&
           setup_.routes.find(message.aggregate_type.str(), topic) != nullptr;
}

std::optional<BornLease> HotIntake::reserve(std::span<const NewMessage> messages) {
    const Instant now = setup_.clock.now();
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    if (state->closing || setup_.options.hot_capacity == 0) return std::nullopt;
    for (const NewMessage& message : messages)
        if (!may_be_born_leased(*state, message, now)) return std::nullopt;
    if (state->overloaded() || !state->queues.reserve_hot(messages.size())) {
        effects.hot_dropped = messages.size();
        return std::nullopt;
    }
    return BornLease{.owner = setup_.owner,
                     .lease_id = state->born.reserve(messages.size(), now, setup_.random),
                     .lease = setup_.options.lease};
}

void HotIntake::give_back(const BornLease& born) {
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    if (const auto ended = state->born.end(born.lease_id))
        state->queues.give_back_hot(ended->count);
}

void HotIntake::hand_over(const BornLease& born, std::vector<Message> messages, bool certain) {
    std::vector<Settlement> late;
    {
        Effects effects(notifier_);
        const StateLock state(shared_, effects);
        const auto reserved = state->born.end(born.lease_id);
        if (!reserved) return;
        state->queues.give_back_hot(reserved->count - messages.size());  // dropped by the database
        if (state->closed) {
            for (const Message& message : messages)
                late.push_back(released(message, Duration::zero(), "the dispatcher has stopped"));
        } else if (state->closing) {
            state->queues.give_back_hot(messages.size());
            for (Message& message : messages)
                state->release_at_close(std::move(message), setup_.clock.now());
        } else if (certain) {
            effects.hot_enqueued = messages.size();
            for (Message& message : messages) state->accept_hot(std::move(message), reserved->at);
        } else {
            effects.poller = true;
            for (Message& message : messages)
                state->unverified.push_back({.message = std::move(message), .at = reserved->at});
        }
    }
    if (!late.empty()) release_now(late);
}

// Nobody is left to do it later. The transaction that hands over keeps the store alive.
void HotIntake::release_now(std::span<const Settlement> settlements) const noexcept {
    try {
        setup_.store.settle(nullptr, setup_.options.queue, settlements);
    } catch (...) {  // their leases run out
    }
}

std::map<WorkItemId, LeaseId> HotIntake::standing(
    std::span<const DispatchState::Unverified> batch) const {
    Query query;
    for (const DispatchState::Unverified& one : batch) query.ids.push_back(one.message.id);
    query.limit = static_cast<std::uint32_t>(batch.size());
    query.payloads = false;
    std::map<WorkItemId, LeaseId> out;
    for (const Message& message : setup_.store.find(setup_.options.queue, query))
        if (message.lease) out[message.id] = message.lease->lease_id;
    return out;
}

Instant HotIntake::verify(Instant now) {
    std::vector<DispatchState::Unverified> batch;
    {
        Effects effects(notifier_);
        const StateLock state(shared_, effects);
        batch = std::exchange(state->unverified, {});
    }
    if (batch.empty()) return Instant::max();
    std::map<WorkItemId, LeaseId> found;
    try {
        found = standing(batch);
    } catch (const std::exception& error) {
        notifier_.store_failed("find", error.what());
        Effects effects(notifier_);
        const StateLock state(shared_, effects);
        std::move(batch.begin(), batch.end(), std::back_inserter(state->unverified));
        if (!state->closing) return now + verify_pause;
        state->release_unverified(setup_.clock.now());  // nobody comes again
        return Instant::max();
    }
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    for (DispatchState::Unverified& one : batch) {
        const auto at = found.find(one.message.id);
        const bool stands = at != found.end() && at->second == one.message.lease->lease_id;
        if (stands && !state->closing) {
            state->accept_hot(std::move(one.message), one.at);
            ++effects.hot_enqueued;
        } else {
            state->queues.give_back_hot(1);
            if (stands) state->release_at_close(std::move(one.message), setup_.clock.now());
        }
    }
    // What was handed over meanwhile has woken the poller, and that is this thread.
    return state->unverified.empty() ? Instant::max() : now;
}

}  // namespace postroom
