// Thread-safety annotations: which mutex guards which member, checked by clang
// (-Werror=thread-safety), empty for other compilers.
#pragma once

#if defined(__clang__)
#define POSTROOM_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define POSTROOM_THREAD_ANNOTATION(x)
#endif

// On a type: objects of it can be held (a mutex) or hold something for a scope (a lock).
#define POSTROOM_CAPABILITY(name) POSTROOM_THREAD_ANNOTATION(capability(name))
#define POSTROOM_SCOPED_CAPABILITY POSTROOM_THREAD_ANNOTATION(scoped_lockable)

// On a member: touch it (or what it points to) only while holding `mutex`.
#define POSTROOM_GUARDED_BY(mutex) POSTROOM_THREAD_ANNOTATION(guarded_by(mutex))
#define POSTROOM_PT_GUARDED_BY(mutex) POSTROOM_THREAD_ANNOTATION(pt_guarded_by(mutex))

// On a function: the caller holds the mutex, must not hold it, or gets it, or gives it back.
#define POSTROOM_REQUIRES(...) POSTROOM_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define POSTROOM_EXCLUDES(...) POSTROOM_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define POSTROOM_ACQUIRE(...) POSTROOM_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define POSTROOM_TRY_ACQUIRE(...) POSTROOM_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define POSTROOM_RELEASE(...) POSTROOM_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define POSTROOM_ASSERT_HELD(...) POSTROOM_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
#define POSTROOM_RETURN_CAPABILITY(mutex) POSTROOM_THREAD_ANNOTATION(lock_returned(mutex))

// On a function whose locking the checker cannot follow; say why beside it.
#define POSTROOM_NO_THREAD_SAFETY_ANALYSIS POSTROOM_THREAD_ANNOTATION(no_thread_safety_analysis)
