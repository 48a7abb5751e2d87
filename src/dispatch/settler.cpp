#include "dispatch/settler.hpp"

#include <algorithm>
#include <iterator>

namespace postroom {

void Settler::add(Outgoing outgoing, Instant now, bool hurried) {
    const Duration delay =
        hurried ? std::min(options_.delay, options_.hurried_delay) : options_.delay;
    waiting_.push_back({.outgoing = std::move(outgoing), .due = now + delay});
    first_due_ = std::min(first_due_, now + delay);
}

Instant Settler::next_due() const {
    if (!singly_.empty()) return not_before_;
    if (waiting_.empty()) return Instant::max();
    if (waiting_.size() >= options_.batch) return not_before_;
    return std::max(not_before_, first_due_);
}

std::vector<Outgoing> Settler::take(Instant now, bool all) {
    std::vector<Outgoing> out;
    if (empty() || now < (all ? not_before_ : next_due())) return out;
    if (!singly_.empty()) {
        out.push_back(std::move(singly_.front()));
        singly_.pop_front();
        return out;
    }
    const std::size_t count = std::min(waiting_.size(), options_.batch);
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        out.push_back(std::move(waiting_.front().outgoing));
        waiting_.pop_front();
    }
    first_due_ = Instant::max();
    for (const Waiting& left : waiting_) first_due_ = std::min(first_due_, left.due);
    return out;
}

void Settler::succeeded() {
    pause_ = options_.failure_pause;
    not_before_ = {};
}

void Settler::failed(std::vector<Outgoing> batch, Instant now) {
    not_before_ = now + pause_;
    pause_ = std::min(pause_ * 2, options_.failure_pause_max);
    for (auto& outgoing : batch) waiting_.push_back({.outgoing = std::move(outgoing), .due = now});
    if (!batch.empty()) first_due_ = std::min(first_due_, now);
    std::rotate(waiting_.begin(), std::prev(waiting_.end(), std::ssize(batch)), waiting_.end());
}

void Settler::refused(std::vector<Outgoing> batch) {
    std::move(batch.begin(), batch.end(), std::back_inserter(singly_));
}

}  // namespace postroom
