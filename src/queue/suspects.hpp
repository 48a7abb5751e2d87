// Suspects: tells a message that its destination chokes on from a destination that is down.
//
// The two look the same from here: the connection breaks, a gateway answers 502, no answer comes.
// What happens to others tells them apart. The first time is an outage, which costs no attempt.
// When the same message remains unanswered again, and another one that was sent in between was
// answered, it is the message; when others remained unanswered too and nobody was answered, it is
// still the destination, for as long as that lasts. When no other was tried in between it is
// unclear: then the message steps aside, so that others show whether the destination works. One
// that has no others beside it is to blame once it has been unanswered for too many times, so that
// it ends some day.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.hpp"
#include "postroom/clock.hpp"
#include "postroom/handler.hpp"

namespace postroom {

enum class Blame : std::uint8_t {
    destination,  // it is down
    unclear,      // let others go first
    message,      // it costs the message an attempt
};

// Thread safety: may be shared between threads. Remembers a bounded number of messages; what is
// forgotten begins anew.
class Suspects {
public:
    using Time = std::chrono::steady_clock::time_point;

    static constexpr std::size_t remembered_max = 1000;

    explicit Suspects(std::uint64_t unanswered_max) : unanswered_max_(unanswered_max) {}

    // The destination has answered the message, which was sent at `begun`.
    void answered(const std::string& message_id, Time begun);

    struct Finding {
        Blame blame{};
        Duration pause{};  // unclear: how long the message should step aside
    };
    // The message has remained without an answer once more.
    Finding unanswered(const std::string& message_id, Time now);

    // When it last remained without an answer; nullopt when it is no suspect.
    std::optional<Time> last_unanswered(const std::string& message_id) const;

private:
    struct Record {
        std::uint64_t times = 0;  // in a row, with no other message tried in between
        Time last{};
    };
    bool others_unanswered(const std::string& but, Time since) const POSTROOM_REQUIRES(mutex_);
    void forget_oldest() POSTROOM_REQUIRES(mutex_);

    const std::uint64_t unanswered_max_;
    mutable base::Mutex mutex_;
    std::unordered_map<std::string, Record> records_ POSTROOM_GUARDED_BY(mutex_);
    // When the latest of all answered requests was sent.
    Time served_ POSTROOM_GUARDED_BY(mutex_) = Time::min();
};

// What becomes of the message that was found so; `why` says what happened to it.
Verdict verdict_of(const Suspects::Finding& finding, const std::string& why);

}  // namespace postroom
