#include "sim/faulty_store.hpp"

#include <utility>

#include "postroom/error.hpp"

namespace postroom::sim {

std::unique_ptr<Transaction> FaultyStore::begin() {
    weather_.before_call("begin");
    return std::make_unique<FaultyTransaction>(*this, witness_.begin());
}

std::vector<EnqueueResult> FaultyStore::enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                                const BornLease* born) {
    weather_.before_call("enqueue");
    if (tx != nullptr) return enqueue_in(dynamic_cast<FaultyTransaction&>(*tx), messages, born);
    std::vector<EnqueueResult> results = witness_.enqueue(nullptr, messages, born);
    weather_.after_call("enqueue", false);
    return results;
}

std::vector<EnqueueResult> FaultyStore::enqueue_in(FaultyTransaction& tx,
                                                   std::span<const NewMessage> messages,
                                                   const BornLease* born) {
    std::vector<EnqueueResult> results;
    const Written& first = ledger_.of(Ledger::number_of(*messages.front().payload));
    if (!first.parent && weather_.savepoint_rolls_back()) {
        // As after ROLLBACK TO: as if they had never been, and the writer cannot know.
        for (const NewMessage& message : messages) {
            ledger_.set_fate(Ledger::number_of(*message.payload), Fate::absent);
            results.push_back({.id = {WorkItemId::seq_max - never_stored_++, 1},
                               .message_id = message.message_id,
                               .top_level = false});
        }
        return results;
    }
    for (const NewMessage& message : messages) {
        const int number = Ledger::number_of(*message.payload);
        tx.numbers_.push_back(number);
        ledger_.of(number).fate = Fate::open;
    }
    results = witness_.enqueue(tx.inner_.get(), messages, born);
    if (weather_.savepoint_used())
        for (EnqueueResult& result : results) result.top_level = false;
    weather_.after_call("enqueue", true);
    return results;
}

std::vector<Message> FaultyStore::claim(Queue queue, const ClaimRequest& request,
                                        std::stop_token stop) {
    weather_.before_call("claim");
    std::vector<Message> claimed = witness_.claim(queue, request, stop);
    if (mutant_ == Mutant::losses_overlooked)
        for (Message& message : claimed) message.lost_count = std::min(message.lost_count, 1U);
    weather_.after_call("claim", false);
    return claimed;
}

std::vector<Settled> FaultyStore::settle(TxContext* tx, Queue queue,
                                         std::span<const Settlement> settlements) {
    try {
        weather_.before_call("settle");
    } catch (const Error&) {
        if (mutant_ != Mutant::outage_taken_for_success) throw;
        return std::vector<Settled>(settlements.size(), Settled::done);
    }
    if (tx != nullptr) {
        auto& ours = dynamic_cast<FaultyTransaction&>(*tx);
        std::vector<Settled> results = witness_.settle(ours.inner_.get(), queue, settlements);
        for (std::size_t i = 0; i < results.size(); ++i)
            if (results[i] != Settled::lost) ours.settlements_.push_back(settlements[i]);
        weather_.after_call("settle", true);
        return results;
    }
    std::vector<Settlement> sent(settlements.begin(), settlements.end());
    for (Settlement& one : sent) {
        const bool outage = mutant_ == Mutant::outage_costs_attempt;
        if (outage && one.outcome == Outcome::release) one.outcome = Outcome::abandon;
        const bool hushed = mutant_ == Mutant::failure_acknowledged;
        if (hushed && one.outcome == Outcome::abandon) one.outcome = Outcome::ack;
    }
    std::vector<Settled> results = witness_.settle(nullptr, queue, sent);
    weather_.after_call("settle", false);
    return results;
}

std::vector<bool> FaultyStore::extend(Queue queue, std::span<const Lease> leases, Duration lease) {
    weather_.before_call("extend");
    std::vector<bool> results = witness_.extend(queue, leases, lease);
    weather_.after_call("extend", false);
    return results;
}

std::uint64_t FaultyStore::reap(Queue queue, std::uint32_t limit, std::stop_token stop) {
    weather_.before_call("reap");
    const std::uint64_t count = witness_.reap(queue, limit, stop);
    weather_.after_call("reap", false);
    return count;
}

std::vector<Message> FaultyStore::find(Queue queue, const Query& query) {
    weather_.before_call("find");
    std::vector<Message> found = witness_.find(queue, query);
    weather_.after_call("find", true);
    return found;
}

void FaultyTransaction::after_commit(std::function<void()> callback) {
    if (store_.mutant_ == Mutant::hand_over_before_commit) return callback();
    after_commit_.push_back(std::move(callback));
}

void FaultyTransaction::end(Fate fate) {
    open_ = false;
    for (const int number : numbers_) store_.ledger_.set_fate(number, fate);
}

void FaultyTransaction::run(std::vector<std::function<void()>>& callbacks) {
    for (const auto& callback : std::exchange(callbacks, {})) callback();
}

void FaultyTransaction::commit() {
    if (!open_) throw Error(ErrorKind::misuse, "the transaction has ended");
    try {
        store_.weather_.before_call("commit");
    } catch (const Error& error) {
        const bool unknown = error.kind() == ErrorKind::outcome_unknown;
        if (unknown && store_.mutant_ == Mutant::hand_over_when_unknown) run(after_commit_);
        rollback();
        throw;
    }
    for (const int number : numbers_) store_.ledger_.of(number).fate = Fate::unknown;
    try {
        store_.witness_.commit(*inner_, settlements_);
    } catch (const Error&) {
        end(Fate::absent);
        run(after_rollback_);
        throw;
    }
    end(Fate::committed);
    store_.weather_.after_call("commit", false);
    run(after_commit_);
}

void FaultyTransaction::rollback() {
    if (!open_) return;
    inner_->rollback();
    end(Fate::absent);
    if (store_.mutant_ == Mutant::hand_over_after_rollback) run(after_commit_);
    run(after_rollback_);
}

}  // namespace postroom::sim
