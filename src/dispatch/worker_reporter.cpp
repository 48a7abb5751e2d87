#include "dispatch/worker_reporter.hpp"

#include <algorithm>
#include <exception>

namespace postroom {

namespace {

constexpr Duration busy_interval = std::chrono::seconds{5};
// After a failure: the store is away, or has no place for reports.
constexpr Duration failure_pause = std::chrono::minutes{1};

double per_second(std::uint64_t count, Duration in) {
    const double seconds = std::chrono::duration<double>(in).count();
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

}  // namespace

WorkerReport WorkerReporter::next_report(Instant now, Duration idle_interval) {
    WorkerReport report{.owner = setup_.owner,
                        .queue = setup_.options.queue,
                        .host = identity_.host,
                        .pid = identity_.pid,
                        .version = identity_.version,
                        .started = started_,
                        .last_seen = now,
                        .lease = setup_.options.lease,
                        .topics = setup_.routes.topics(),
                        .repeats = controls_->repeats()};
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    const DispatchState::Reports counted = std::exchange(state->reports, {});
    report.circuits = state->circuits.reports();
    report.in_hand = state->in_flight.size();
    report.delivered_per_second = per_second(counted.delivered, now - last_);
    report.failed_per_second = per_second(counted.failed, now - last_);
    const bool busy =
        report.in_hand > 0 || counted.delivered + counted.failed > 0 || !report.circuits.empty();
    state->reports.idle = !busy;
    report.interval = busy ? busy_interval : std::max(busy_interval, idle_interval);
    return report;
}

Instant WorkerReporter::step(Instant now, Duration idle_interval) {
    if (controls_ == nullptr || identity_.version.empty()) return Instant::max();
    if (started_ == Instant{}) last_ = started_ = now;
    if (now < next_ && (failed_ || !StateView(shared_)->report_due())) return next_;
    const WorkerReport report = next_report(now, idle_interval);
    last_ = now;
    next_ = now + report.interval;
    try {
        controls_->report_worker(report);
        known_ = true;
        failed_ = false;
    } catch (const std::exception& error) {
        // Once is enough: what needs the store tells of its failures itself.
        if (!std::exchange(failed_, true))
            notifier_.observe(
                {.kind = EventKind::store_failed, .error = error.what(), .operation = "report"});
        next_ = now + failure_pause;
    }
    return next_;
}

void WorkerReporter::sign_off() {
    if (!std::exchange(known_, false)) return;
    try {
        controls_->forget_worker(setup_.owner, setup_.options.queue);
    } catch (const std::exception&) {
        known_ = false;  // it falls silent instead
    }
}

}  // namespace postroom
