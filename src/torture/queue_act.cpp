#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "torture/acts.hpp"
#include "torture/history.hpp"
#include "torture/queue_worker.hpp"
#include "torture/worker_loop.hpp"

namespace postroom::torture {

namespace {

constexpr std::size_t worker_count = 4;
constexpr std::uint32_t page = 1000;
constexpr int drains_max = 6;

int work(const Plan& plan, const QueueWorker::Options& options) {
    QueueWorker worker(plan.open(), options);
    return worker_loop([&] { return worker.step(); },
                       [&](const std::string& what) { worker.note_error(what); });
}

QueueWorker::Options options_for(const Plan& plan, const std::filesystem::path& folder,
                                 std::uint64_t number) {
    using Role = QueueWorker::Role;
    static constexpr std::array roles{Role::both, Role::enqueue, Role::both, Role::claim};
    return {.role = roles.at(number % roles.size()),
            .journal = folder / std::to_string(number),
            .seed = plan.seed * 100'000 + number,
            .lease = plan.lease,
            .orders_table = plan.orders_table};
}

Stored stored_in(Store& store, const std::string& orders_table) {
    Stored stored;
    Query query{.limit = page, .payloads = false};
    while (true) {
        const std::vector<Message> found = store.find(Queue::outbox, query);
        for (const Message& message : found)
            stored.states[message.message_id.str()].push_back(message.state);
        if (found.size() < page) break;
        query.after_seq = found.back().id.seq();
    }
    const std::unique_ptr<Transaction> tx = store.begin();
    for (const auto& row : tx->execute({.sql = "SELECT id FROM " + orders_table}))
        stored.orders.insert(row.at(0).value());
    return stored;
}

// Delivers what is left, and returns what there is then. A server may commit for a writer that is
// dead already: it is over when two looks after a drain agree.
Stored drained(const Plan& plan, const std::filesystem::path& folder, Act& act) {
    QueueWorker::Options drain = options_for(plan, folder, 0);
    drain.role = QueueWorker::Role::drain;
    Stored before;
    for (int n = 0;; ++n) {
        drain.journal = folder / fmt::format("drain-{}", n);
        if (!finishes(plan, [&] { return work(plan, drain); }))
            act.broken.emplace_back("messages are stuck: the queue could not be drained");
        Stored now = stored_in(*plan.open(), plan.orders_table);
        if (now == before || n == drains_max || !act.broken.empty()) return now;
        before = std::move(now);
    }
}

}  // namespace

Act queue_act(const Plan& plan) {
    Act act{.name = "queue",
            .what =
                "writers and workers of the outbox are killed; late commits, roll-backs, leases "
                "that run out, late and failing outcomes"};
    const std::filesystem::path folder = folder_of(plan, act.name);
    std::uint64_t kills = 0;
    {
        Pack workers(worker_count, plan.seed, plan.lease, [&](std::uint64_t number) {
            return work(plan, options_for(plan, folder, number));
        });
        torment(plan, [&] { kill_one(workers); });
        kills = workers.kills();
    }
    const Stored stored = drained(plan, folder, act);
    const History history(folder);
    for (const std::vector<std::string>& broken :
         {history.broken_promises(stored), double_holders(history.holds())})
        act.broken.insert(act.broken.end(), broken.begin(), broken.end());
    act.figures = {{"kills", kills},
                   {"enqueued", history.confirmed()},
                   {"in_doubt", history.in_doubt()},
                   {"rolled_back", history.rolled_back()},
                   {"acknowledged", history.acked()},
                   {"redelivered", redelivered(history.holds())},
                   {"late_outcomes_refused", history.lost_leases()},
                   {"database_errors", history.errors().size()},
                   {"lost", history.lost(stored)}};
    return act;
}

}  // namespace postroom::torture
