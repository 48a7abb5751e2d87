#include <fmt/format.h>

#include <map>
#include <string>

#include "torture/acts.hpp"
#include "torture/receiver_worker.hpp"
#include "torture/sender_worker.hpp"
#include "torture/worker_loop.hpp"

namespace postroom::torture {

namespace {

constexpr std::size_t peer_count = 4;
constexpr std::uint64_t messages_per_start = 20;

int send(const Plan& plan, const std::filesystem::path& folder, std::uint64_t number) {
    SenderWorker sender(plan.open(), {.journal = folder / std::to_string(number),
                                      .seed = plan.seed * 100'000 + number,
                                      .first = number * messages_per_start});
    return worker_loop([&] { return sender.step(); }, [](const std::string&) {});
}

int receive(const Plan& plan, std::uint64_t number, bool drains) {
    ReceiverWorker receiver(plan.open(), {.seed = plan.seed * 100'000 + number,
                                          .lease = plan.lease,
                                          .effects_table = plan.effects_table,
                                          .drains = drains});
    return worker_loop([&] { return receiver.step(); }, [](const std::string&) {});
}

std::map<std::string, std::uint64_t> effects_in(Store& store, const std::string& table) {
    std::map<std::string, std::uint64_t> effects;
    const std::unique_ptr<Transaction> tx = store.begin();
    for (const auto& row : tx->execute({.sql = "SELECT message_id FROM " + table}))
        ++effects[row.at(0).value()];
    return effects;
}

}  // namespace

Act redelivery_act(const Plan& plan) {
    Act act{.name = "redelivery",
            .what =
                "the same messages arrive again and again while senders and receivers are "
                "killed; each takes effect once"};
    const std::filesystem::path folder = folder_of(plan, act.name);
    std::uint64_t kills = 0;
    {
        Pack workers(peer_count, plan.seed, plan.lease, [&](std::uint64_t number) {
            return number % 2 == 0 ? send(plan, folder, number) : receive(plan, number, false);
        });
        torment(plan, [&] { kill_one(workers); });
        kills = workers.kills();
    }
    if (!finishes(plan, [&] { return receive(plan, 0, true); }))
        act.broken.emplace_back("messages are stuck: the inbox could not be drained");

    const Offers offers = Offers::read(folder);
    const auto effects = effects_in(*plan.open(), plan.effects_table);
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;
    for (const std::string& id : offers.taken) {
        if (effects.contains(id)) continue;
        act.broken.push_back(fmt::format("{}: received, yet without effect", id));
        ++lost;
    }
    for (const auto& [id, times] : effects) {
        if (!offers.offered.contains(id))
            act.broken.push_back(fmt::format("{}: took effect, though nobody sent it", id));
        if (times == 1) continue;
        act.broken.push_back(fmt::format("{}: took effect {} times", id, times));
        ++doubled;
    }
    act.figures = {{"kills", kills},
                   {"messages", offers.taken.size()},
                   {"arrivals", offers.arrivals},
                   {"effects", effects.size()},
                   {"doubled", doubled},
                   {"lost", lost}};
    return act;
}

}  // namespace postroom::torture
