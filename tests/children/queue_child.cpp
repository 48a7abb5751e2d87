// A worker that enqueues, claims and settles until it is killed, and keeps a journal of it.
//
//   queue_child enqueue|claim|both|drain URL JOURNAL SEED LEASE_MS
//
// `drain` acknowledges whatever there is and ends when nothing is left.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "children/child_loop.hpp"
#include "children/journal.hpp"
#include "postroom/error.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

std::int64_t microseconds(Instant instant) { return instant.time_since_epoch().count(); }

class QueueChild {
public:
    QueueChild(const std::string& mode, const std::string& url, const std::string& journal,
               std::uint64_t seed, Duration lease)
        : drains_(mode == "drain"),
          enqueues_(mode == "enqueue" || mode == "both"),
          claims_(mode != "enqueue"),
          lease_(lease),
          name_(fmt::format("{:x}", seed)),
          random_(seed),
          journal_(journal),
          store_(open_store(url, {.pool_max = 2})),
          outbox_(*store_) {}

    bool step() {
        if (enqueues_) enqueue();
        if (claims_) work();
        return !drains_ || !drained();
    }

    void note_error(const std::string& what) {
        std::string line = what;
        std::replace(line.begin(), line.end(), '\n', ' ');
        journal_.write(fmt::format("error {}\n", line));
    }

private:
    bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

    bool drained() {
        const Counts counts = outbox_.counts();
        return counts.ready + counts.in_progress == 0;
    }

    std::vector<NewMessage> make_messages() {
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

    std::string plan(const char* end, const char* kind, const std::vector<NewMessage>& messages) {
        std::string line = fmt::format("plan {} {} {}", end, ++tag_, kind);
        for (const NewMessage& message : messages) line += ' ' + message.message_id.str();
        return line + '\n';
    }

    void kept() { journal_.write(fmt::format("kept {}\n", tag_)); }

    void enqueue() {
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

    void write_order(const std::vector<NewMessage>& messages) {
        const bool commit = chance(70);
        const std::unique_ptr<Transaction> tx = store_->begin();
        const bool business_first = chance(50);
        if (business_first) write_business(*tx, messages);
        store_->enqueue(tx.get(), messages);
        if (!business_first) write_business(*tx, messages);
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

    static void write_business(Transaction& tx, const std::vector<NewMessage>& messages) {
        for (const NewMessage& message : messages)
            tx.execute({.sql = fmt::format("INSERT INTO business_order (id) VALUES ('{}')",
                                           message.message_id.str())});
    }

    void work() {
        const auto batch = static_cast<std::uint32_t>(drains_ ? 200 : 1 + random_() % 12);
        const std::vector<Message> messages = outbox_.claim(owner_, lease_, batch);
        std::string lines;
        for (const Message& message : messages) {
            const Lease& lease = message.lease.value();
            lines += fmt::format("held {} {} {} {}\n", message.message_id.str(),
                                 lease.lease_id.value(), microseconds(lease.locked_until - lease_),
                                 microseconds(lease.locked_until));
        }
        journal_.write(lines);
        if (!drains_ && chance(3)) std::this_thread::sleep_for(lease_ + 5ms);  // too late
        settle(messages);
    }

    void settle(const std::vector<Message>& messages) {
        std::vector<Settlement> settlements;
        std::vector<std::string> ids;
        const std::int64_t at = messages.empty() ? 0 : microseconds(store_->now());
        std::string lines;
        for (const Message& message : messages) {
            if (!drains_ && chance(4)) continue;  // left to expire
            settlements.push_back({.lease = message.lease.value()});
            ids.push_back(message.message_id.str());
            lines += fmt::format("settle {} {} {} {}\n", choose_outcome(settlements.back()),
                                 ids.back(), message.lease->lease_id.value(), at);
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

    const char* choose_outcome(Settlement& settlement) {
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

    const bool drains_;
    const bool enqueues_;
    const bool claims_;
    const Duration lease_;
    const std::string name_;
    const OwnerToken owner_ = OwnerToken::generate();
    std::mt19937_64 random_;
    Journal journal_;
    std::unique_ptr<Store> store_;
    Outbox outbox_;
    std::uint64_t made_ = 0;
    std::uint64_t tag_ = 0;
};

}  // namespace
}  // namespace postroom::test

int main(int count, char** arguments) {
    if (count != 6) return 2;
    using namespace postroom::test;
    QueueChild child(arguments[1], arguments[2], arguments[3], std::stoull(arguments[4]),
                     std::chrono::milliseconds{std::stoi(arguments[5])});
    return child_loop([&] { return child.step(); },
                      [&](const std::string& what) { child.note_error(what); });
}
