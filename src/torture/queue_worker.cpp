#include "torture/queue_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "postroom/error.hpp"

namespace postroom::torture {

namespace {

using namespace std::chrono_literals;

std::int64_t microseconds(Instant instant) { return instant.time_since_epoch().count(); }

}  // namespace

QueueWorker::QueueWorker(std::unique_ptr<Store> store, const Options& options)
    : options_(options),
      drains_(options.role == Role::drain),
      enqueues_(options.role == Role::enqueue || options.role == Role::both),
      claims_(options.role != Role::enqueue),
      name_(fmt::format("{:x}", options.seed)),
      random_(options.seed),
      journal_(options.journal),
      store_(std::move(store)),
      outbox_(*store_, {.queue = {.observer = &silence()}}) {}

bool QueueWorker::step() {
    if (enqueues_) enqueue();
    if (claims_) work();
    return !drains_ || !drained();
}

void QueueWorker::note_error(const std::string& what) {
    std::string line = what;
    std::replace(line.begin(), line.end(), '\n', ' ');
    journal_.write(fmt::format("error {}\n", line));
}

bool QueueWorker::chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

bool QueueWorker::drained() {
    const Counts counts = outbox_.counts();
    return counts.ready + counts.in_progress == 0;
}

std::vector<NewMessage> QueueWorker::make_messages() {
    const std::size_t count = chance(60) ? 1 : 2 + random_() % 8;
    std::vector<NewMessage> messages(count);
    const bool keyed = chance(30);
    for (NewMessage& message : messages) {
        message.message_id = MessageId(fmt::format("{}-{}", name_, ++made_));
        message.topic = "order.placed";
        message.payload = std::string(random_() % 300, 'x') + message.message_id.str();
        // Enqueued at the store: an Outbox would take each of these message ids for a key.
        if (keyed) message.idempotency_key = message.message_id.str();
        if (chance(10)) message.priority = chance(50) ? 5 : -5;
    }
    return messages;
}

std::string QueueWorker::plan(const char* end, const char* kind,
                              const std::vector<NewMessage>& messages) {
    std::string line = fmt::format("plan {} {} {}", end, ++tag_, kind);
    for (const NewMessage& message : messages) line += ' ' + message.message_id.str();
    return line + '\n';
}

void QueueWorker::kept() { journal_.write(fmt::format("kept {}\n", tag_)); }

void QueueWorker::enqueue() {
    const std::vector<NewMessage> messages = make_messages();
    if (chance(20)) {  // without a transaction of the caller's
        journal_.write(plan("commit", "plain", messages));
        store_->enqueue(nullptr, messages);
        kept();
        return;
    }
    try {
        write_order(messages);
    } catch (const Error& error) {
        // The victim of a deadlock begins anew, with the next order.
        if (error.kind() != ErrorKind::conflict) throw;
    }
}

void QueueWorker::write_order(const std::vector<NewMessage>& messages) {
    const bool commit = chance(70);
    const std::unique_ptr<Transaction> tx = store_->begin();
    const bool business_first = chance(50);
    if (business_first) write_business(*tx, messages);
    store_->enqueue(tx.get(), messages);
    if (!business_first) write_business(*tx, messages);
    // Others enqueue, claim and settle meanwhile: what commits late is not passed over.
    if (chance(2)) std::this_thread::sleep_for(options_.lease * (random_() % 3) / 2);
    // Killed before this line, nothing of it may ever be seen: nobody says that they enqueued
    // it.
    journal_.write(plan(commit ? "commit" : "rollback", "order", messages));
    if (commit) {
        tx->commit();
        kept();
    } else if (chance(50)) {
        tx->rollback();
    }  // else the destructor does it
}

void QueueWorker::write_business(Transaction& tx, const std::vector<NewMessage>& messages) const {
    for (const NewMessage& message : messages)
        tx.execute({.sql = fmt::format("INSERT INTO {} (id) VALUES ('{}')", options_.orders_table,
                                       message.message_id.str())});
}

void QueueWorker::work() {
    const auto batch = static_cast<std::uint32_t>(drains_ ? 200 : 1 + random_() % 12);
    const std::vector<Message> messages = outbox_.claim(owner_, options_.lease, batch);
    std::string lines;
    for (const Message& message : messages) {
        const Lease& lease = message.lease.value();
        lines += fmt::format("held {} {} {} {}\n", message.message_id.str(), lease.lease_id.value(),
                             microseconds(lease.locked_until - options_.lease),
                             microseconds(lease.locked_until));
    }
    journal_.write(lines);
    if (!drains_ && chance(3)) std::this_thread::sleep_for(options_.lease + 5ms);  // too late
    settle(messages);
}

void QueueWorker::settle(const std::vector<Message>& messages) {
    std::vector<Settlement> settlements;
    std::vector<std::string> ids;
    const std::int64_t at = messages.empty() ? 0 : microseconds(store_->now());
    std::string lines;
    for (const Message& message : messages) {
        if (!drains_ && chance(4)) continue;  // left to expire
        settlements.push_back({.lease = message.lease.value()});
        ids.push_back(message.message_id.str());
        lines += fmt::format("settle {} {} {} {}\n", choose_outcome(settlements.back()), ids.back(),
                             message.lease->lease_id.value(), at);
    }
    if (settlements.empty()) return;
    journal_.write(lines);
    const std::vector<Settled> results = store_->settle(nullptr, Queue::outbox, settlements);
    lines.clear();
    static constexpr const char* names[] = {"lost", "done", "ready", "dead"};
    for (std::size_t i = 0; i < results.size(); ++i)
        lines += fmt::format("settled {} {} {}\n", names[static_cast<std::size_t>(results[i])],
                             ids[i], settlements[i].lease.lease_id.value());
    journal_.write(lines);
}

const char* QueueWorker::choose_outcome(Settlement& settlement) {
    const auto dice = drains_ ? 0 : random_() % 100;
    if (dice < 70) return "ack";
    if (dice < 85) {
        settlement.outcome = Outcome::abandon;
        settlement.delay = 1ms;
        settlement.error = "not this time";
        return "abandon";
    }
    if (dice < 95) {
        settlement.outcome = Outcome::release;
        return "release";
    }
    settlement.outcome = Outcome::fail;
    settlement.error = "never";
    return "fail";
}

}  // namespace postroom::torture
