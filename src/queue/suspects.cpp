#include "queue/suspects.hpp"

#include <algorithm>

namespace postroom {

namespace {

// 2 s, 4 s, ... 64 s.
Duration pause_after(std::uint64_t times) {
    constexpr std::uint64_t doublings_max = 6;
    return std::chrono::seconds(1ULL << std::clamp<std::uint64_t>(times - 1, 1, doublings_max));
}

}  // namespace

void Suspects::answered(const std::string& message_id, Time begun) {
    const base::MutexLock lock(mutex_);
    served_ = std::max(served_, begun);
    records_.erase(message_id);
}

Suspects::Finding Suspects::unanswered(const std::string& message_id, Time now) {
    const base::MutexLock lock(mutex_);
    if (records_.size() >= remembered_max && !records_.contains(message_id)) forget_oldest();
    Record& record = records_[message_id];
    const Time before = record.last;
    record.last = now;
    if (++record.times == 1) return {.blame = Blame::destination};
    if (served_ > before) return {.blame = Blame::message};
    if (others_unanswered(message_id, before)) {
        record.times = 1;
        return {.blame = Blame::destination};
    }
    if (record.times > unanswered_max_) return {.blame = Blame::message};
    return {.blame = Blame::unclear, .pause = pause_after(record.times)};
}

std::optional<Suspects::Time> Suspects::last_unanswered(const std::string& message_id) const {
    const base::MutexLock lock(mutex_);
    const auto found = records_.find(message_id);
    return found == records_.end() ? std::nullopt : std::optional(found->second.last);
}

// Those of the same moment count: they were under way together.
bool Suspects::others_unanswered(const std::string& but, Time since) const {
    return std::ranges::any_of(records_, [&](const auto& entry) {
        return entry.second.last >= since && entry.first != but;
    });
}

void Suspects::forget_oldest() {
    records_.erase(std::ranges::min_element(records_, {},
                                            [](const auto& entry) { return entry.second.last; }));
}

Verdict verdict_of(const Suspects::Finding& finding, const std::string& why) {
    switch (finding.blame) {
        case Blame::destination:
            return Verdict::down(why);
        case Blame::unclear:
            return {.outcome = Outcome::release, .error = why, .delay = finding.pause};
        case Blame::message:
            break;
    }
    return Verdict::retry(why + ", again; other messages are answered, or this one is alone");
}

}  // namespace postroom
