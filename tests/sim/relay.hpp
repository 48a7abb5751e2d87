// Relay: one process with a dispatcher on virtual time, for runs in which nothing is left to
// chance: handlers take as long as they are told, and some messages kill the process.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "dispatch/dispatch_core.hpp"
#include "postroom/testing.hpp"

namespace postroom::sim {

class Relay {
public:
    // What the handler does with a message; false: the process dies as it is called.
    using Handle = std::function<bool(const Message&)>;

    Relay(ManualClock& time, Store& store, const DispatcherOptions& options, Duration takes,
          Handle handle)
        : time_(time), random_(1), takes_(takes), handle_(std::move(handle)) {
        core_ = std::make_shared<DispatchCore>(store, options, time_, random_);
        const auto nothing = [](const Message&) {};
        core_->routes().on("single", nothing);
        core_->routes().on_batch("batch", 20,
                                 [](std::span<const Message> messages, HandlerContext&) {
                                     return std::vector<Verdict>(messages.size(), Verdict::done());
                                 });
        core_->connect({.workers = [](std::size_t) {},
                        .poller = [this] { due_[claim] = time_.now(); },
                        .settler = [this] { due_[settle] = time_.now(); },
                        .keeper = [this] { due_[keep] = time_.now(); }});
        due_.fill(time_.now());
        workers_ = options.worker_count;
    }
    ~Relay() { core_->disconnect(); }
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    // Goes on until `end`, or until the process dies: then false.
    bool run_until(Instant end) {
        while (time_.now() < end) {
            while (step_at_once())
                if (dead_) return false;
            time_.set(std::min(end, next()));
        }
        return true;
    }

    // Messages whose handlers run now.
    std::vector<Message> running() const {
        std::vector<Message> out;
        for (const Call& call : calls_)
            out.insert(out.end(), call.work.messages.begin(), call.work.messages.end());
        return out;
    }

    const std::vector<Message>& newest_call() const { return calls_.back().work.messages; }

private:
    enum Step : std::size_t { claim, settle, keep, step_count };
    struct Call {
        Work work{};
        Instant ends{};
    };

    bool step_at_once() {
        const Instant now = time_.now();
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            if (calls_[i].ends > now) continue;
            Work work = std::move(calls_[i].work);
            calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(i));
            core_->run(std::move(work));
            return true;
        }
        if (calls_.size() < workers_) {
            if (std::optional<Work> work = core_->take(now)) {
                calls_.push_back({.work = std::move(*work), .ends = now + takes_});
                for (const Message& message : calls_.back().work.messages)
                    dead_ = !handle_(message) || dead_;
                return true;
            }
        }
        for (std::size_t step = 0; step < step_count; ++step) {
            if (due_[step] > now) continue;
            due_[step] = Instant::max();  // woken meanwhile: taken again
            due_[step] = std::min(due_[step], take(static_cast<Step>(step), now));
            return true;
        }
        return false;
    }

    Instant take(Step step, Instant now) {
        if (step == claim) return core_->claim_step(now);
        return step == settle ? core_->settle_step(now) : core_->keep_step(now);
    }

    Instant next() const {
        Instant at = *std::min_element(due_.begin(), due_.end());
        for (const Call& call : calls_) at = std::min(at, call.ends);
        return at;
    }

    ManualClock& time_;
    base::SeededRandom random_;
    const Duration takes_;
    const Handle handle_;
    std::shared_ptr<DispatchCore> core_;
    std::array<Instant, step_count> due_{};
    std::vector<Call> calls_;
    std::size_t workers_ = 0;
    bool dead_ = false;
};

}  // namespace postroom::sim
