#include "runtime/store_openers.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

namespace postroom {

namespace {

constexpr std::size_t threads_max = 8;
constexpr Duration gathering = std::chrono::milliseconds{50};

}  // namespace

StoreOpeners::StoreOpeners(const std::vector<StoreSet::Missing>& missing, const OpenStore& open,
                           std::stop_token stop)
    : missing_(missing), open_(open), stop_(std::move(stop)) {
    const std::size_t wanted = std::min(missing_.size(), threads_max);
    {
        const base::MutexLock lock(mutex_);
        running_ = wanted;
    }
    std::size_t started = 0;
    try {
        for (; started < wanted; ++started) threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
        // The system has no more threads: those that there are do it all, if need be this one.
        {
            const base::MutexLock lock(mutex_);
            running_ = running_ - (wanted - started) + (started == 0 ? 1 : 0);
        }
        if (started == 0) run();
    }
}

std::optional<std::vector<StoreOpeners::Result>> StoreOpeners::next() {
    base::MutexLock lock(mutex_);
    ended_.wait(lock, {},
                [this]() POSTROOM_REQUIRES(mutex_) { return running_ == 0 || !results_.empty(); });
    if (results_.empty()) return std::nullopt;
    ended_.wait_for(lock, {}, gathering,
                    [this]() POSTROOM_REQUIRES(mutex_) { return running_ == 0; });
    return std::exchange(results_, {});
}

void StoreOpeners::run() {
    base::MutexLock lock(mutex_);
    while (begun_ < missing_.size() && !stop_.stop_requested()) {
        const StoreSet::Missing& missing = missing_[begun_++];
        lock.unlock();
        Result result = open(missing);
        lock.lock();
        results_.push_back(std::move(result));
        ended_.notify_all();
    }
    --running_;
    ended_.notify_all();
}

StoreOpeners::Result StoreOpeners::open(const StoreSet::Missing& missing) const {
    Result result{.of = &missing};
    try {
        result.store = open_as(missing.database, open_);
    } catch (const std::exception& error) {
        result.error = error.what();
    }
    return result;
}

}  // namespace postroom
