#include "torture/torture.hpp"

#include <array>
#include <chrono>

#include "torture/acts.hpp"

namespace postroom::torture {

namespace {

constexpr std::array acts{&queue_act, &redelivery_act, &dispatch_act};

}  // namespace

Duration act_duration(const Plan& plan) { return plan.duration / int{acts.size()}; }

void torment(const Plan& plan, const std::function<void()>& tick) {
    const auto end = std::chrono::steady_clock::now() + act_duration(plan);
    do {
        plan.check();
        tick();
    } while (std::chrono::steady_clock::now() < end);
}

void kill_one(Pack& workers) {
    if (!workers.kill_one())
        throw WorkerEnded("a worker ended by itself; what it said is on standard error");
}

std::filesystem::path folder_of(const Plan& plan, const std::string& act) {
    const std::filesystem::path folder = plan.folder / act;
    std::filesystem::create_directory(folder);
    return folder;
}

Duration recovery_patience(const Plan& plan) { return std::chrono::minutes{2} + 20 * plan.lease; }

bool finishes(const Plan& plan, const std::function<int()>& work) {
    return Process(work).ends_well(recovery_patience(plan), plan.check);
}

std::vector<Act> torture(const Plan& plan) {
    std::vector<Act> done;
    for (Act (*const act)(const Plan&) : acts) done.push_back(act(plan));
    return done;
}

}  // namespace postroom::torture
