// The writers of the world.
#include <utility>

#include "postroom/error.hpp"
#include "sim/world.hpp"

namespace postroom::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array topics{"plain", "plain", "plain", "tx",   "tx",  "batch",
                            "batch", "async", "async", "free", "far", "nobody"};

}  // namespace

NewMessage World::new_message(bool with_id_key) {
    Written written;
    NewMessage message;
    written.topic = topics[dice_.below(topics.size())];
    if (dice_.chance(250)) written.key = dice_.chance(500) ? "k1" : "k2";
    if (dice_.chance(50)) written.expires_at = time_.now() + dice_.between({}, seconds{20});
    message.topic = TopicName(written.topic);
    message.ordering_key = written.key;
    message.expires_at = written.expires_at;
    if (dice_.chance(80) && !message.expires_at)
        message.due_time = time_.now() + dice_.between({}, seconds{10});
    if (dice_.chance(100)) message.priority = dice_.chance(500) ? 1 : -1;
    const int number = ledger_.add(std::move(written));
    message.payload = std::to_string(number);
    if (with_id_key) message.idempotency_key = "key " + *message.payload;
    return message;
}

void World::write(SimProcess& process) {
    --left_to_write_;
    next_write_ = time_.now() +
                  (dice_.chance(600) ? Duration::zero() : dice_.between({}, milliseconds{2000}));
    if (dice_.chance(500)) return write_alone(process);
    write_in_transaction(process);
}

// With an idempotency key it is repeated until its outcome is known.
void World::write_alone(SimProcess& process) {
    const bool with_key = dice_.chance(250);
    const NewMessage message = new_message(with_key);
    const int number = Ledger::number_of(*message.payload);
    report_.say("p{} writes message {} on {}", process.life(), number, message.topic.str());
    bool perhaps_there = false;
    for (int tries = with_key ? 4 : 1; tries > 0; --tries) {
        try {
            process.outbox().enqueue(message);
            return ledger_.set_fate(number, Fate::committed);
        } catch (const Error& error) {
            perhaps_there = perhaps_there || error.kind() == ErrorKind::outcome_unknown;
        }
    }
    if (!perhaps_there) ledger_.set_fate(number, Fate::absent);
}

void World::write_in_transaction(SimProcess& process) {
    OpenTransaction open;
    open.commits = dice_.chance(700);
    // A transaction longer than the lease that its messages are born with is a fault.
    const Duration longest = profile_.options.lease * (profile_.faults ? 3 : 1) / 2;
    open.ends = time_.now() + (dice_.chance(300) ? dice_.between({}, longest) : Duration::zero());
    try {
        open.transaction = process.store().begin();
        for (std::uint32_t i = dice_.range(1, 2); i > 0; --i) {
            std::vector<NewMessage> messages;
            for (std::uint32_t n = dice_.range(1, 2); n > 0; --n)
                messages.push_back(new_message(false));
            report_.say("p{} writes {} messages from {} in a transaction", process.life(),
                        messages.size(), *messages.front().payload);
            process.outbox().enqueue_all(*open.transaction, messages);
        }
    } catch (const Error&) {
        return;  // rolled back
    }
    process.transactions.push_back(std::move(open));
}

void World::end_transaction(SimProcess& process, std::size_t which) {
    OpenTransaction open = std::move(process.transactions[which]);
    process.transactions.erase(process.transactions.begin() + static_cast<std::ptrdiff_t>(which));
    report_.say("p{} {}", process.life(), open.commits ? "commits" : "rolls back");
    if (!open.commits) return open.transaction->rollback();
    try {
        open.transaction->commit();
    } catch (const Error& error) {
        report_.say("commit: {}", error.what());
    }
}

}  // namespace postroom::sim
