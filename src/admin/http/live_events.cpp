#include "admin/http/live_events.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/random.hpp"

namespace postroom::admin {

LiveEvents::LiveEvents() : run_(fmt::format("{:016x}", base::SystemRandom().next())) {}

void LiveEvents::publish(std::string_view name, std::string_view data) {
    {
        const base::MutexLock lock(mutex_);
        ++last_;
        events_.push_back(
            {.number = last_,
             .text = fmt::format("id: {}-{}\nevent: {}\ndata: {}\n\n", run_, last_, name, data)});
        bytes_ += events_.back().text.size();
        drop_old();
    }
    if (on_publish_) on_publish_();
}

void LiveEvents::drop_old() {
    while (events_.size() > kept_max || (events_.size() > 1 && bytes_ > kept_bytes_max)) {
        bytes_ -= events_.front().text.size();
        events_.pop_front();
    }
}

LiveEvents::Batch LiveEvents::reset() const {
    return {.text = fmt::format("id: {}-{}\nevent: reset\ndata: {{}}\n\n", run_, last_),
            .position = last_};
}

LiveEvents::Batch LiveEvents::after_locked(std::uint64_t position) const {
    if (!events_.empty() && position + 1 < events_.front().number) return reset();
    Batch batch{.position = last_};
    for (const Event& event : events_)
        if (event.number > position) batch.text += event.text;
    return batch;
}

LiveEvents::Batch LiveEvents::after(std::uint64_t position) const {
    const base::MutexLock lock(mutex_);
    return after_locked(position);
}

LiveEvents::Batch LiveEvents::begin(std::string_view last_event_id) const {
    const base::MutexLock lock(mutex_);
    if (last_event_id.empty()) return {.position = last_};
    const std::size_t dash = last_event_id.find('-');
    std::uint64_t number = 0;
    if (dash != std::string_view::npos && last_event_id.substr(0, dash) == run_) {
        const char* const end = last_event_id.data() + last_event_id.size();
        const auto [stopped, error] = std::from_chars(last_event_id.data() + dash + 1, end, number);
        if (error == std::errc() && stopped == end && number <= last_) return after_locked(number);
    }
    return reset();
}

}  // namespace postroom::admin
