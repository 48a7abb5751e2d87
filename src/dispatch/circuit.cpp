#include "dispatch/circuit.hpp"

#include <algorithm>

namespace postroom {

bool Circuit::may_start(Instant now) const {
    if (open_until_) return now >= *open_until_;
    return allowed_ == 0 || running_ < allowed_;
}

bool Circuit::start(Instant now) {
    if (!may_start(now)) return false;
    if (open_until_) {
        open_until_.reset();
        allowed_ = 1;
        borne_ = 0;
        running_ = 0;  // those from before say nothing about it any more
    }
    ++running_;
    return true;
}

// While it ramps up, what does not fit comes again soon.
Duration Circuit::rest(Instant now) const {
    constexpr Duration shortly = std::chrono::milliseconds{250};
    if (open_until_ && *open_until_ > now) return *open_until_ - now;
    return shortly;
}

bool Circuit::succeeded() {
    if (running_ > 0) --running_;
    if (open_until_ || allowed_ == 0) return false;  // begun before it opened, or closed anyway
    if (++borne_ < allowed_) return false;
    if (allowed_ == 1) {  // it answers: the outage is over, and another one would begin anew
        since_.reset();
        topics_.clear();
    }
    borne_ = 0;
    allowed_ *= 2;
    if (allowed_ < full_speed_) return false;
    allowed_ = 0;
    open_for_ = options_.open_for;
    return true;
}

bool Circuit::failed(Instant now, std::string_view error) {
    if (running_ > 0) --running_;
    if (open_until_) return false;  // one of several that were under way
    open_until_ = now + open_for_;
    if (!since_) since_ = now;
    next_probe_ = *open_until_;
    error_ = error;
    open_for_ = std::min(open_for_ * 2, options_.open_for_max);
    return true;
}

void Circuit::neither() {
    if (running_ > 0) --running_;
}

void Circuit::note_waiting(const std::string& topic) {
    constexpr std::size_t topics_max = 20;
    if (topics_.size() < topics_max) topics_.insert(topic);
}

CircuitReport Circuit::report(const std::string& destination) const {
    return {.destination = destination,
            .error = error_,
            .since = since_.value_or(next_probe_),
            .next_probe = next_probe_,
            .topics = {topics_.begin(), topics_.end()}};
}

bool Circuit::probe_now(Instant now) {
    if (!open_until_ || *open_until_ <= now) return false;
    open_until_ = now;
    return true;
}

bool Circuits::start(const std::string& destination, Instant now) {
    const auto at = circuits_.find(destination);
    return at == circuits_.end() || at->second.start(now);
}

Duration Circuits::rest(const std::string& destination, Instant now) const {
    const auto at = circuits_.find(destination);
    return at == circuits_.end() ? Duration::zero() : at->second.rest(now);
}

bool Circuits::succeeded(const std::string& destination) {
    const auto at = circuits_.find(destination);
    if (at == circuits_.end() || !at->second.succeeded()) return false;
    circuits_.erase(at);
    return true;
}

// The one that has waited longest for its probe. If it is still down, the next message opens it
// again.
void Circuits::forget_one() {
    circuits_.erase(
        std::min_element(circuits_.begin(), circuits_.end(), [](const auto& a, const auto& b) {
            return a.second.next_probe() < b.second.next_probe();
        }));
}

bool Circuits::failed(const std::string& destination, Instant now, std::string_view error) {
    if (circuits_.size() >= circuits_max && !circuits_.contains(destination)) forget_one();
    const auto at = circuits_.try_emplace(destination, options_, full_speed_).first;
    return at->second.failed(now, error);
}

void Circuits::note_waiting(const std::string& destination, const std::string& topic) {
    const auto at = circuits_.find(destination);
    if (at != circuits_.end()) at->second.note_waiting(topic);
}

void Circuits::neither(const std::string& destination) {
    const auto at = circuits_.find(destination);
    if (at != circuits_.end()) at->second.neither();
}

bool Circuits::may_start(const std::string& destination, Instant now) const {
    const auto at = circuits_.find(destination);
    return at == circuits_.end() || at->second.may_start(now);
}

bool Circuits::answers(const std::string& destination) const {
    const auto at = circuits_.find(destination);
    return at == circuits_.end() || at->second.answers();
}

bool Circuits::probe_now(const std::string& destination, Instant now) {
    const auto at = circuits_.find(destination);
    return at != circuits_.end() && at->second.probe_now(now);
}

std::vector<std::string> Circuits::open() const {
    std::vector<std::string> out;
    for (const auto& [destination, circuit] : circuits_) out.push_back(destination);
    return out;
}

std::vector<CircuitReport> Circuits::reports() const {
    std::vector<CircuitReport> out;
    for (const auto& [destination, circuit] : circuits_)
        if (!circuit.answers()) out.push_back(circuit.report(destination));
    return out;
}

}  // namespace postroom
