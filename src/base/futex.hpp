// Sleeping on a number, without a mutex: what std::atomic::wait() does, but at once. The standard
// library first gives way to other threads a few times, and Linux lets whoever does that wait
// longer for its next turn. Elsewhere the standard library does it.
#pragma once

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cstdint>

namespace postroom::base {

#ifdef __linux__

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// Returns at once when `word` is not `expected`, else when it is woken, and sometimes for nothing.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

// Wakes so many of those that wait.
inline void futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

#else

// Whoever is woken too early looks again, and whoever is woken too often too.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    word.wait(expected);
}

inline void futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept {
    if (count == 1) {
        word.notify_one();
    } else {
        word.notify_all();
    }
}

#endif

}  // namespace postroom::base
