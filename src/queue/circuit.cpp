#include "queue/circuit.hpp"

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
    borne_ = 0;
    allowed_ *= 2;
    if (allowed_ < full_speed_) return false;
    allowed_ = 0;
    open_for_ = options_.open_for;
    return true;
}

bool Circuit::failed(Instant now) {
    if (running_ > 0) --running_;
    if (open_until_) return false;  // one of several that were under way
    open_until_ = now + open_for_;
    open_for_ = std::min(open_for_ * 2, options_.open_for_max);
    return true;
}

void Circuit::neither() {
    if (running_ > 0) --running_;
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

bool Circuits::failed(const std::string& destination, Instant now) {
    const auto at = circuits_.try_emplace(destination, options_, full_speed_).first;
    return at->second.failed(now);
}

void Circuits::neither(const std::string& destination) {
    const auto at = circuits_.find(destination);
    if (at != circuits_.end()) at->second.neither();
}

bool Circuits::may_start(const std::string& destination, Instant now) const {
    const auto at = circuits_.find(destination);
    return at == circuits_.end() || at->second.may_start(now);
}

std::vector<std::string> Circuits::open() const {
    std::vector<std::string> out;
    for (const auto& [destination, circuit] : circuits_) out.push_back(destination);
    return out;
}

}  // namespace postroom
