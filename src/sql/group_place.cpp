#include "sql/group_place.hpp"

namespace postroom::sql {

GroupPlace::Failure GroupPlace::Failure::of(const Error& error) noexcept {
    try {
        return {error.kind(), std::make_shared<const std::string>(error.what())};
    } catch (...) {
        return {error.kind(), nullptr};
    }
}

GroupPlace::Fate GroupPlace::wait() {
    base::MutexLock lock(mutex_);
    told_.wait(lock, [this]() POSTROOM_REQUIRES(mutex_) { return fate_ != Fate::waiting; });
    return fate_;
}

bool GroupPlace::told_within(Duration limit) {
    base::MutexLock lock(mutex_);
    return told_.wait_for(lock, {}, limit,
                          [this]() POSTROOM_REQUIRES(mutex_) { return fate_ != Fate::waiting; });
}

void GroupPlace::rethrow() const {
    throw Error(failure->kind, failure->what == nullptr ? "out of memory" : *failure->what);
}

void GroupPlace::tell(Fate fate) {
    {
        const base::MutexLock lock(mutex_);
        fate_ = fate;
    }
    told_.notify_one();
}

}  // namespace postroom::sql
