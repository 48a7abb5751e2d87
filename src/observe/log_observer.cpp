#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "observe/log_line.hpp"
#include "observe/log_text.hpp"
#include "observe/outages.hpp"
#include "postroom/observer.hpp"

namespace postroom {

namespace {

struct Totals {
    std::uint64_t cycles = 0;
    std::uint64_t claimed = 0;
    std::uint64_t delivered = 0;
    std::uint64_t retried = 0;
    std::uint64_t dead = 0;
    std::uint64_t released = 0;
    std::uint64_t lost = 0;
    std::uint64_t store_failed = 0;
};

// The total that counts events of this kind, if one does.
std::uint64_t* total_of(Totals& totals, EventKind kind) {
    switch (kind) {
        case EventKind::claimed:
            return &totals.cycles;
        case EventKind::delivered:
            return &totals.delivered;
        case EventKind::retried:
            return &totals.retried;
        case EventKind::dead:
            return &totals.dead;
        case EventKind::released:
            return &totals.released;
        case EventKind::lost:
            return &totals.lost;
        case EventKind::store_failed:
            return &totals.store_failed;
        default:
            return nullptr;
    }
}

std::string summary_text(const Event& event, const Totals& totals, std::size_t max_value_chars) {
    LogLine line(log_name(event.queue, "WORKER_SUMMARY"), max_value_chars);
    line.add("store", event.store).add("cycles", totals.cycles).add("claimed", totals.claimed);
    line.add("delivered", totals.delivered).add("retried", totals.retried);
    line.add("dead", totals.dead).add("released", totals.released).add("lost", totals.lost);
    line.add("store_failed", totals.store_failed);
    return line.text();
}

// A log that cannot be written must not disturb the work it speaks of.
template <class Action>
void attempt(const Action& action) noexcept {
    try {
        action();
    } catch (...) {
        return;
    }
}

}  // namespace

// The totals of each queue of each store since its last summary.
class LogObserver::Summaries {
public:
    explicit Summaries(std::uint32_t every) : every_(every) {}

    // Counts `event`; returns the totals when a summary of its queue and store is due.
    std::optional<Totals> count(const Event& event) {
        Totals ignored;
        if (every_ == 0 || total_of(ignored, event.kind) == nullptr) return std::nullopt;
        const base::MutexLock lock(mutex_);
        auto& stores = totals_[event.queue == Queue::outbox ? 0 : 1];
        auto found = stores.find(event.store);
        if (found == stores.end()) found = stores.emplace(event.store, Totals{}).first;
        Totals& totals = found->second;
        ++*total_of(totals, event.kind);
        if (event.kind == EventKind::claimed) totals.claimed += event.count;
        if (totals.cycles < every_) return std::nullopt;
        const Totals due = totals;
        stores.erase(found);
        return due;
    }

private:
    using Stores = std::map<std::string, Totals, std::less<>>;

    const std::uint32_t every_;

    base::Mutex mutex_;
    std::array<Stores, 2> totals_ POSTROOM_GUARDED_BY(mutex_);
};

std::string_view to_string(LogLevel level) {
    constexpr std::array<std::string_view, 4> names{"DEBUG", "INFO", "WARNING", "ERROR"};
    return names.at(static_cast<std::size_t>(level));
}

LogObserver::LogObserver(LogOptions options)
    : options_([&options] {
          if (!options.write) options.write = &log_to_stderr;
          return std::move(options);
      }()),
      clock_(options_.clock == nullptr ? monotonic_clock() : *options_.clock),
      summaries_(std::make_unique<Summaries>(options_.summary_every)),
      outages_(std::make_unique<Outages>(options_.outage_every)) {}

LogObserver::~LogObserver() = default;

// A claim ends an outage, whether anything is written of that or not.
bool LogObserver::wants(EventKind kind) const noexcept {
    if (kind == EventKind::claimed) return true;
    const std::optional<LogForm> form = log_form_of({.kind = kind, .count = 1});
    return form && (form->level >= options_.min_level || options_.min_level <= LogLevel::info);
}

void LogObserver::observe(const Event& event) noexcept {
    attempt([&] {
        if (event.kind == EventKind::claimed) write_recovery(event);
        if (event.kind != EventKind::store_failed) return write_event(event);
        const std::optional<Outages::News> news =
            outages_->failed(event.store, event.operation == "claim", clock_.now());
        if (!news) return;
        Event told = event;
        told.count = news->failures;
        told.duration = news->lasted;
        write_event(told);
    });
    // After the event's own line, and also when that could not be written.
    attempt([&] {
        const std::optional<Totals> due = summaries_->count(event);
        if (!due || options_.min_level > LogLevel::info) return;
        options_.write(LogLevel::info, summary_text(event, *due, options_.max_value_chars));
    });
}

void LogObserver::write_event(const Event& event) {
    const std::optional<LogForm> form = log_form_of(event);
    if (!form || form->level < options_.min_level) return;
    const bool switched_off = form->per_message && !options_.per_message_info;
    if (switched_off) return;
    options_.write(form->level, log_text(event, *form, options_.max_value_chars));
}

void LogObserver::write_recovery(const Event& event) {
    const std::optional<Outages::News> over = outages_->claimed(event.store, clock_.now());
    if (!over || options_.min_level > LogLevel::info) return;
    LogLine line(log_name(event.queue, "STORE_BACK"), options_.max_value_chars);
    line.add("store", event.store).add("failures", over->failures).add("outage_ms", over->lasted);
    options_.write(LogLevel::info, line.text());
}

}  // namespace postroom
