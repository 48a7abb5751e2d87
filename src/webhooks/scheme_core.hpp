// Scheme::Core: what the schemes share, that is keys, the window of time, and the comparison.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "base/sha256.hpp"
#include "postroom/webhooks.hpp"

namespace postroom::webhooks {

class Scheme::Core {
public:
    // Turns a secret as people write it into the bytes that HMAC takes, or throws
    // std::invalid_argument.
    using DecodeSecret = std::string (*)(std::string_view secret);

    Core(std::span<const Key> keys, const SchemeOptions& options, DecodeSecret decode);

    void add_key(const Key& key) POSTROOM_EXCLUDES(mutex_);
    bool revoke_key(std::string_view name) POSTROOM_EXCLUDES(mutex_);

    const SchemeOptions& options() const { return options_; }
    // Whole seconds, as the headers count them.
    std::chrono::sys_seconds now() const;

    // ok, timestamp_too_old or timestamp_in_future.
    Authenticity judge_time(std::chrono::sys_seconds signed_at) const;

    // One digest of `content` for each key. Throws Error{misuse} when there is none.
    std::vector<base::Sha256Digest> sign(std::string_view content) const POSTROOM_EXCLUDES(mutex_);

    // The name of the key that made one of `signatures` (32 bytes each) of `content`, or nullopt.
    std::optional<std::string> matching_key(std::string_view content,
                                            std::span<const std::string> signatures) const
        POSTROOM_EXCLUDES(mutex_);

private:
    // A copy, so that nobody waits for somebody else's digest of a long body.
    std::vector<Key> keys() const POSTROOM_EXCLUDES(mutex_);

    const SchemeOptions options_;
    const DecodeSecret decode_;
    const SystemClock system_clock_{};
    const Clock& clock_;

    mutable base::Mutex mutex_;
    std::vector<Key> keys_ POSTROOM_GUARDED_BY(mutex_);  // with their secrets decoded
};

}  // namespace postroom::webhooks
