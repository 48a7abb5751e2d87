#include "sim/world.hpp"

#include <utility>

#include "postroom/error.hpp"

namespace postroom::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t steps_at_once_max = 20'000;

OpenOptions database_options() {
    OpenOptions options;
    options.statement_timeout = milliseconds{1};  // real time; nobody waits for a key here
    return options;
}

}  // namespace

World::World(const Profile& profile, bool trace)
    : profile_(profile),
      dice_(profile.seed + 0x5eed),
      database_(time_, database_options(), profile.seed),
      report_(time_, trace),
      ledger_(database_, profile_, report_),
      mutant_store_(database_, profile.mutant),
      witness_(profile.mutant == Mutant::none ? static_cast<Store&>(database_) : mutant_store_,
               ledger_, report_),
      faults_(profile.faults),
      left_to_write_(profile.message_count),
      next_write_(time_.now()) {
    const std::size_t count = profile.process_count + (profile.separate_writer ? 1 : 0);
    processes_.resize(count);
    for (std::size_t i = 0; i < count; ++i) spawn(i, i < profile.process_count);
}

World::~World() = default;

void World::spawn(std::size_t place, bool dispatches) {
    processes_[place].reset();
    processes_[place] = std::make_unique<SimProcess>(*this, ++lives_, dispatches);
    report_.say("p{} is born", lives_);
}

std::vector<World::Action> World::possible() {
    std::vector<Action> actions;
    const Instant now = time_.now();
    for (std::size_t p = 0; p < processes_.size(); ++p) {
        SimProcess& process = *processes_[p];
        if (process.dead() || process.paused_until > now) continue;
        for (std::size_t loop = 0; loop < loop_count; ++loop)
            if (process.due(static_cast<Loop>(loop))) actions.push_back({Deed::loop, p, loop});
        if (process.worker_waits()) actions.push_back({Deed::work, p, 0});
        for (std::size_t i = 0; i < process.handlers().size(); ++i)
            if (process.handlers()[i].ends <= now) actions.push_back({Deed::finish, p, i});
        for (std::size_t i = 0; i < process.transactions.size(); ++i)
            if (process.transactions[i].ends <= now)
                actions.push_back({Deed::end_transaction, p, i});
        if (left_to_write_ > 0 && next_write_ <= now && !process.closing())
            actions.push_back({Deed::write, p, 0});
    }
    return actions;
}

void World::perform(const Action& action) {
    SimProcess& process = *processes_[action.process];
    try {
        switch (action.deed) {
            case Deed::loop:
                return process.step(static_cast<Loop>(action.which));
            case Deed::work:
                return process.work();
            case Deed::finish:
                return process.finish(action.which);
            case Deed::write:
                return write(process);
            case Deed::end_transaction:
                return end_transaction(process, action.which);
        }
    } catch (const ProcessCrashed&) {
        process.die();
    }
}

void World::act(bool nested) {
    if (!nested) {
        do_without_harm();
        if (faults_) do_harm();
    }
    const std::vector<Action> actions = possible();
    const bool late = !nested && faults_ && dice_.chance(profile_.weather.late);
    if (!actions.empty() && !late) {
        perform(actions[dice_.below(actions.size())]);
    } else if (!nested) {
        pass_time();
    }
    if (nested) return;
    ++steps_;
    bury();
    for (const auto& process : processes_) process->judge_bounds();
}

void World::interleave() {
    if (nested_ == 2) return;
    ++nested_;
    for (std::uint32_t i = dice_.range(1, 4); i > 0; --i) act(true);
    --nested_;
}

// Dead processes are replaced by new ones, and so are those that have closed.
void World::bury() {
    for (std::size_t p = 0; p < processes_.size(); ++p) {
        SimProcess& process = *processes_[p];
        if (process.closed()) {
            process.judge_closed();
        } else if (!process.dead()) {
            continue;
        }
        spawn(p, process.dispatches());
    }
}

void World::do_harm() {
    const Weather& weather = profile_.weather;
    SimProcess& process = *processes_[dice_.below(processes_.size())];
    const Duration lease = profile_.options.lease;
    if (dice_.chance(weather.crash)) {
        report_.say("p{} crashes", process.life());
        process.die();
    }
    if (dice_.chance(weather.pause)) {
        process.paused_until = time_.now() + dice_.between(lease / 2, lease * 3);
        report_.say("p{} stands still", process.life());
    }
    if (dice_.chance(weather.jump)) {
        const bool back = profile_.clocks_go_back && dice_.chance(500);
        const Duration by = dice_.between(milliseconds{1}, lease * 2);
        process.clock().offset += back ? -by : by;
        if (back) process.clock_is_true = false;
        report_.say("p{} clock jumps", process.life());
    }
    if (dice_.chance(weather.destination_turns)) destination_down_ = !destination_down_;
    bury();
}

// What belongs to every day.
void World::do_without_harm() {
    SimProcess& process = *processes_[dice_.below(processes_.size())];
    if (!process.dispatches() || process.closing()) return;
    if (dice_.chance(profile_.weather.spurious)) process.core().nudge();
    if (dice_.chance(profile_.weather.spurious))
        process.wake(static_cast<Loop>(dice_.below(loop_count)));
    if (storm_over_) return;
    const bool ready = process.paused_until <= time_.now();
    // Rather while it holds something.
    const unsigned weight = process.core().status().in_flight > 0 ? 10 : 1;
    if (dice_.chance(profile_.close * weight) && ready) process.begin_close();
    if (dice_.chance(profile_.topic_pause)) {
        const std::string topic = dice_.chance(500) ? "plain" : "async";
        if (process.core().status().paused.empty()) {
            process.core().pause(topic);
        } else {
            for (const std::string& paused : process.core().status().paused)
                process.core().resume(paused);
        }
    }
}

void World::pass_time() {
    const Instant now = time_.now();
    Instant next = now + seconds{1};
    const auto consider = [&](Instant at) {
        if (at > now) next = std::min(next, at);
    };
    for (const auto& process : processes_) {
        consider(process->paused_until);
        if (const std::optional<Instant> due = process->next_due()) consider(*due);
    }
    if (left_to_write_ > 0) consider(next_write_);
    if (faults_ && dice_.chance(profile_.weather.late))
        next += dice_.between({}, profile_.options.lease * 2);
    time_.set(next);
}

void World::clear_weather() {
    report_.say("the weather clears");
    faults_ = false;
    storm_over_ = true;
    destination_down_ = profile_.one_down_for_ever;
    for (const auto& process : processes_) {
        process->paused_until = std::min(process->paused_until, time_.now());
        if (!process->dispatches()) continue;
        for (const std::string& topic : process->core().status().paused)
            process->core().resume(topic);
    }
}

void World::finish_all() {
    const Instant give_up = time_.now() + profile_.options.lease * 10 + seconds{120};
    const auto finished = [&] {
        if (left_to_write_ > 0 || ledger_.backlog() > 0) return false;
        for (const auto& process : processes_)
            if (!process->transactions.empty()) return false;
        return true;
    };
    Instant at = time_.now();
    std::uint64_t here = 0;
    while (!report_.violated()) {
        act(false);
        here = time_.now() == at ? here + 1 : 0;
        at = time_.now();
        if (here > steps_at_once_max) return report_.violate("I9 time stands still");
        if (at > give_up)
            return report_.violate("I9 not finished in time:" + ledger_.describe_backlog());
        if (steps_ % 4 == 0 && finished()) return;
    }
}

RunResult World::run() {
    while (steps_ < profile_.step_count && !report_.violated()) act(false);
    clear_weather();
    finish_all();
    // What is left in memory has time to be looked at.
    const Instant rest = time_.now() + seconds{10};
    for (std::uint64_t n = 0; n < steps_at_once_max && time_.now() < rest; ++n)
        if (!report_.violated()) act(false);
    if (!report_.violated()) ledger_.judge_end();
    if (!report_.violated())
        for (const auto& process : processes_) process->judge_credit();
    return {.violation = report_.violation(),
            .digest = report_.digest(),
            .steps = steps_,
            .starts = starts_};
}

RunResult simulate(const Profile& profile, bool trace) {
    World world(profile, trace);
    return world.run();
}

}  // namespace postroom::sim
