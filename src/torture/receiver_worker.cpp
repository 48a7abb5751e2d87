#include "torture/receiver_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace postroom::torture {

using namespace std::chrono_literals;

ReceiverWorker::ReceiverWorker(std::unique_ptr<Store> store, const Options& options)
    : options_(options),
      random_(options.seed),
      store_(std::move(store)),
      inbox_(*store_, {.queue = {.observer = &silence()}}) {}

bool ReceiverWorker::step() {
    const auto batch = static_cast<std::uint32_t>(1 + random_() % 20);
    const std::vector<Message> messages = inbox_.claim(inbox_.owner(), options_.lease, batch);
    if (messages.empty()) std::this_thread::sleep_for(1ms);
    if (chance(3))
        std::this_thread::sleep_for(options_.lease + 5ms);  // others take them over meanwhile
    // By once() for itself, or in groups by ack() with the leases.
    for (std::size_t i = 0; i < messages.size();) {
        const std::size_t group = std::min<std::size_t>(1 + random_() % 8, messages.size() - i);
        const std::span part(messages.data() + i, group);
        if (chance(30)) {
            take_effect_once(part.front());
            ++i;
        } else {
            take_effect_and_ack(part);
            i += group;
        }
    }
    return !options_.drains || !drained();
}

bool ReceiverWorker::drained() {
    const Counts counts = inbox_.counts();
    return counts.ready + counts.in_progress == 0;
}

bool ReceiverWorker::chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

void ReceiverWorker::write_effect(Transaction& tx, const Message& message) const {
    tx.execute(
        {.sql = fmt::format("INSERT INTO {} (source, message_id) VALUES ('{}', '{}')",
                            options_.effects_table, message.source, message.message_id.str())});
}

void ReceiverWorker::take_effect_once(const Message& message) {
    const std::unique_ptr<Transaction> tx = store_->begin();
    inbox_.once(*tx, message.key(), [&] { write_effect(*tx, message); });
    if (chance(90)) tx->commit();
}

// All of the group or none: one lost lease undoes the effects of all.
void ReceiverWorker::take_effect_and_ack(std::span<const Message> messages) {
    if (chance(5)) {
        inbox_.abandon(messages, "not this time", Duration{1ms});
        return;
    }
    const std::unique_ptr<Transaction> tx = store_->begin();
    for (const Message& message : messages) write_effect(*tx, message);
    for (const Settled settled : inbox_.ack(*tx, messages))
        if (settled != Settled::done) return;
    if (chance(90)) tx->commit();
}

}  // namespace postroom::torture
