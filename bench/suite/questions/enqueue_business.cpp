#include <fmt/format.h>

#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

constexpr std::size_t one = 1;

// The hand-written transactions of one thread.
enum class Message { none, inserted, with_commit };

Step by_hand(Floor& floor, int thread, Message message) {
    const std::shared_ptr<FloorConnection> connection = floor.connection(thread);
    return [connection, thread, message] {
        connection->begin();
        connection->update_account(thread);
        if (message == Message::inserted) connection->insert();
        if (message == Message::with_commit) {
            connection->insert_and_commit();
        } else {
            connection->commit();
        }
        return one;
    };
}

// Our message on the user's own connection.
Step borrowed(Floor& floor, int thread, const Ours& ours, bool prepare) {
    const std::shared_ptr<FloorConnection> connection = floor.connection(thread);
    return
        [connection, thread, &ours, message = sample_message(),
         context = std::shared_ptr<postroom::TxContext>(connection->borrow({.prepare = prepare}))] {
            connection->begin();
            connection->update_account(thread);
            ours.outbox.enqueue(*context, message);
            connection->commit();
            return one;
        };
}

// Everything through a transaction that our store begins. `posted`: without waiting for the answer.
Step in_transaction(const Ours& ours, int thread, const std::string& update_sql, bool posted) {
    return [&ours, thread, update_sql, posted, message = sample_message()] {
        const auto tx = ours.store->begin();
        tx->execute({update_sql, {std::int64_t{thread}}});
        if (posted) {
            ours.outbox.post(*tx, message);
        } else {
            ours.outbox.enqueue(*tx, message);
        }
        tx->commit();
        return one;
    };
}

void compare(Bench& bench, Engine& engine, int writers) {
    const std::string url = engine.fresh_database();
    const auto floor = engine.floor(url);
    const Ours ours(url);
    const auto load = [&](const MakeStep& make_step) {
        return [&bench, &engine, writers, make_step] {
            return measure_load(engine, writers, bench.options().seconds, make_step);
        };
    };
    const auto hand = [&](Message message) {
        return load([&, message](int thread) { return by_hand(*floor, thread, message); });
    };
    Comparison comparison{"enqueue_business",
                          engine.name(),
                          fmt::format("{} writers", writers),
                          "with INSERT",
                          {{"without a message", Role::floor, hand(Message::none)},
                           {"with INSERT", Role::floor, hand(Message::inserted)}}};
    if (floor->pipelines()) {
        comparison.variants.push_back(
            {"INSERT sent with COMMIT", Role::floor, hand(Message::with_commit)});
    }
    const auto in_ours = [&](bool posted) {
        return load([&, posted](int thread) {
            return in_transaction(ours, thread, floor->update_sql(), posted);
        });
    };
    comparison.variants.push_back({"enqueue, our transaction", Role::ours, in_ours(false)});
    if (floor->pipelines())
        comparison.variants.push_back({"post, our transaction", Role::ours, in_ours(true)});
    for (const bool prepare : {false, true}) {
        comparison.variants.push_back(
            {prepare ? "enqueue, borrowed and prepared" : "enqueue, borrowed connection",
             Role::ours,
             load([&, prepare](int thread) { return borrowed(*floor, thread, ours, prepare); })});
    }
    bench.run(comparison);
}

}  // namespace

void ask_enqueue_business(Bench& bench) {
    for (const auto& engine : bench.engines()) {
        if (!engine->concurrent_writers()) {
            compare(bench, *engine, 1);
            continue;
        }
        for (const int writers : {1, 8, 32}) {
            if (bench.options().quick() && writers == 1) continue;
            if (bench.options().quick() && writers == 32 && engine->name() != "postgresql")
                continue;
            compare(bench, *engine, writers);
        }
    }
}

}  // namespace bench
