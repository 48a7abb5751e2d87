#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "postroom/outbox.hpp"
#include "torture/acts.hpp"
#include "torture/dispatch_ledger.hpp"
#include "torture/dispatch_worker.hpp"
#include "torture/worker_loop.hpp"

namespace postroom::torture {

namespace {

constexpr std::size_t dispatcher_count = 2;
constexpr std::chrono::milliseconds tend_every{50};
// So few that no message can be the victim of as many as a poison message causes.
constexpr std::uint64_t kills_max = 2;
// A loaded machine stands still for longer than the other acts' leases, and what is lost by that
// counts against the message.
constexpr Duration lease_min = std::chrono::seconds{2};

constexpr std::array fates{
    Fate{plain_topic, 300, State::done, DeadReason::none},
    Fate{refused_topic, 20, State::dead, DeadReason::max_attempts},
    Fate{outage_topic, 50, State::done, DeadReason::none},
    Fate{poison_topic, 2, State::dead, DeadReason::crash_limit},
};

std::string id_of(const Fate& fate, std::uint32_t number) {
    return fmt::format("{}-{}", fate.topic, number);
}

// In the order in which they will be claimed, poison in the midst of the rest.
int enqueue_all(const Plan& plan) {
    const std::unique_ptr<Store> store = plan.open();
    const Outbox outbox(*store, {.queue = {.observer = &silence()}});
    for (std::uint32_t number = 0; number < fates[0].count; ++number) {
        for (const Fate& fate : fates) {
            const std::uint32_t every = fates[0].count / fate.count;
            if (number % every != 0 || number / every >= fate.count) continue;
            outbox.enqueue({.topic = fate.topic,
                            .payload = "{}",
                            .message_id = MessageId(id_of(fate, number / every))});
        }
    }
    return 0;
}

int dispatch(const Plan& plan, const DispatchWorker::Options& options) {
    DispatchWorker worker(plan.open(), options);
    return worker_loop([&] { return worker.step(); }, [](const std::string&) {});
}

// The workers end by themselves when nothing is left; until then those that crash are replaced.
struct Course {
    std::uint64_t kills = 0;
    std::uint64_t crashes = 0;
    bool ended = false;
};

Course run_workers(const Plan& plan, Pack workers, const std::filesystem::path& outage) {
    using std::chrono::steady_clock;
    const auto begin = steady_clock::now();
    const Duration share = act_duration(plan);
    Course course;
    while (!workers.empty()) {
        plan.check();
        std::this_thread::sleep_for(tend_every);
        course.crashes += workers.replace_crashed();
        const auto passed = steady_clock::now() - begin;
        if (passed > share / 2) std::filesystem::remove(outage);
        if (workers.kills() < kills_max && passed > share / 8 * (1 + workers.kills()))
            workers.kill_one();
        if (passed > share + recovery_patience(plan)) break;
    }
    course.kills = workers.kills();
    course.ended = workers.empty();
    return course;
}

}  // namespace

Act dispatch_act(const Plan& plan) {
    Act act{.name = "dispatch",
            .what =
                "dispatchers are killed, by us and by poison messages, while handlers refuse "
                "and a destination is down"};
    const std::filesystem::path folder = folder_of(plan, act.name);
    const std::filesystem::path outage = plan.folder / "destination_is_down";
    std::ofstream(outage) << "until this file is gone\n";
    if (!finishes(plan, [&] { return enqueue_all(plan); }))
        throw WorkerEnded("the messages of the dispatch act could not be enqueued");
    const Course course =
        run_workers(plan,
                    Pack(dispatcher_count, plan.seed, plan.lease,
                         [&](std::uint64_t number) {
                             return dispatch(plan, {.journal = folder / std::to_string(number),
                                                    .outage = outage,
                                                    .lease = std::max(plan.lease, lease_min)});
                         }),
                    outage);
    if (!course.ended) act.broken.emplace_back("messages are stuck: the dispatchers do not end");

    DispatchLedger ledger;
    ledger.read_all(folder);
    act.figures = {{"kills", course.kills},
                   {"crashes_by_poison", course.crashes},
                   {"leases_lost_by_stalls", ledger.losses()}};
    const std::unique_ptr<Store> store = plan.open();
    for (const Fate& fate : fates) {
        const std::vector<Message> found = store->find(
            Queue::outbox, {.topic = fate.topic, .limit = 2 * fate.count, .payloads = false});
        for (const Message& message : found)
            std::ranges::move(ledger.judge(fate, message), std::back_inserter(act.broken));
        if (found.size() != fate.count)
            act.broken.push_back(fmt::format("{}: {} of {} messages are there", fate.topic,
                                             found.size(), fate.count));
        act.figures.push_back(
            {fmt::format("{}_{}", fate.topic, fate.state == State::done ? "delivered" : "dead"),
             static_cast<std::uint64_t>(std::ranges::count(found, fate.state, &Message::state))});
    }
    return act;
}

}  // namespace postroom::torture
