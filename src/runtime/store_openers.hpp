// StoreOpeners: opens the stores of databases, a few at a time, so that one that does not answer
// holds up few others.
//
// Thread safety: one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "tenancy/store_set.hpp"

namespace postroom {

class StoreOpeners {
public:
    struct Result {
        const StoreSet::Missing* of = nullptr;
        StorePtr store{};  // nullptr: it could not be opened
        std::string error{};
    };

    // Begins at once, in the given order. Both must outlive this. After `stop` nothing more is
    // begun.
    StoreOpeners(const std::vector<StoreSet::Missing>& missing, const OpenStore& open,
                 std::stop_token stop);
    StoreOpeners(const StoreOpeners&) = delete;
    StoreOpeners& operator=(const StoreOpeners&) = delete;
    // Waits for what is under way.
    ~StoreOpeners() = default;

    // What has ended since the last call; waits for it, and a little longer, so that many that open
    // quickly come together. nullopt: all have ended.
    std::optional<std::vector<Result>> next();

private:
    void run();
    Result open(const StoreSet::Missing& missing) const;

    const std::vector<StoreSet::Missing>& missing_;
    const OpenStore& open_;
    const std::stop_token stop_;

    base::Mutex mutex_;
    base::CondVar ended_;
    std::size_t begun_ POSTROOM_GUARDED_BY(mutex_) = 0;
    std::size_t running_ POSTROOM_GUARDED_BY(mutex_) = 0;  // threads
    std::vector<Result> results_ POSTROOM_GUARDED_BY(mutex_);

    std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace postroom
