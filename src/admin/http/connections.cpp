#include "admin/http/connections.hpp"

#include <utility>

namespace postroom::admin {

Connections::Place::Place(Connections& all, std::function<void()> close)
    : all_(all), close_(std::move(close)), at_(all.waiting_.end()) {
    all_.places_.insert(this);
    ++all_.count_;
}

Connections::Place::~Place() {
    stop_waiting();
    all_.places_.erase(this);
    if (!evicted_) --all_.count_;
}

void Connections::Place::start_waiting() {
    if (!evicted_ && at_ == all_.waiting_.end())
        at_ = all_.waiting_.insert(all_.waiting_.end(), this);
}

void Connections::Place::stop_waiting() {
    if (at_ != all_.waiting_.end()) all_.waiting_.erase(at_);
    at_ = all_.waiting_.end();
}

void Connections::Place::evict() {
    stop_waiting();
    evicted_ = true;
    --all_.count_;
    close_();
}

bool Connections::evict_one() {
    if (waiting_.empty()) return false;
    waiting_.front()->evict();
    return true;
}

void Connections::close_all() {
    for (Place* const place : places_) place->close_();
}

}  // namespace postroom::admin
