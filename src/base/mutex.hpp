// Mutex, MutexLock, CondVar: the standard ones, with annotations that clang checks.
//
// std::mutex carries no annotations in libstdc++, so the checker cannot see it being held. Waits
// take a std::stop_token: a thread that waits can always be asked to stop, without a second wake-up
// path.
//
// A predicate runs with the mutex held, but clang looks at a lambda by itself. Say so in the
// lambda:
//
//     changed_.wait(lock, stop, [this]() POSTROOM_REQUIRES(mutex_) { return !queue_.empty(); });
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include "base/thread_annotations.hpp"

namespace postroom::base {

class POSTROOM_CAPABILITY("mutex") Mutex {
public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() POSTROOM_ACQUIRE() { mutex_.lock(); }
    bool try_lock() POSTROOM_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
    void unlock() POSTROOM_RELEASE() { mutex_.unlock(); }

private:
    std::mutex mutex_;
};

// Holds a Mutex for a scope. unlock() and lock() open a gap in it, for a call that must not run
// under the mutex; the destructor releases only what is held.
class POSTROOM_SCOPED_CAPABILITY MutexLock {
public:
    explicit MutexLock(Mutex& mutex) POSTROOM_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
    ~MutexLock() POSTROOM_RELEASE() {
        if (held_) mutex_.unlock();
    }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

    void lock() POSTROOM_ACQUIRE() {
        mutex_.lock();
        held_ = true;
    }
    void unlock() POSTROOM_RELEASE() {
        held_ = false;
        mutex_.unlock();
    }

private:
    Mutex& mutex_;
    bool held_ = true;
};

// Waits give the lock back while they sleep and hold it again when they return. All of them return
// what `ready` said last: false means that the stop (or the deadline) came first.
//
// The annotation checker cannot follow a lock that is released inside a condition variable, nor
// call an annotated lambda by another name: analysis is off in the bodies, the caller's is
// unaffected.
class CondVar {
public:
    CondVar() = default;
    CondVar(const CondVar&) = delete;
    CondVar& operator=(const CondVar&) = delete;

    void notify_one() noexcept { condition_.notify_one(); }
    void notify_all() noexcept { condition_.notify_all(); }

    template <class Predicate>
    void wait(MutexLock& lock, Predicate ready) POSTROOM_NO_THREAD_SAFETY_ANALYSIS {
        condition_.wait(lock, std::move(ready));
    }

    template <class Predicate>
    bool wait(MutexLock& lock, std::stop_token stop,
              Predicate ready) POSTROOM_NO_THREAD_SAFETY_ANALYSIS {
        return condition_.wait(lock, std::move(stop), std::move(ready));
    }

    template <class Clock, class Duration, class Predicate>
    bool wait_until(MutexLock& lock, std::stop_token stop,
                    const std::chrono::time_point<Clock, Duration>& deadline,
                    Predicate ready) POSTROOM_NO_THREAD_SAFETY_ANALYSIS {
        return condition_.wait_until(lock, std::move(stop), deadline, std::move(ready));
    }

    template <class Rep, class Period, class Predicate>
    bool wait_for(MutexLock& lock, std::stop_token stop,
                  const std::chrono::duration<Rep, Period>& timeout,
                  Predicate ready) POSTROOM_NO_THREAD_SAFETY_ANALYSIS {
        return condition_.wait_for(lock, std::move(stop), timeout, std::move(ready));
    }

private:
    std::condition_variable_any condition_;
};

}  // namespace postroom::base
