// SendRate: so many messages a second, for destinations that must not get more (token bucket).
//
//   const auto rate = std::make_shared<SendRate>(10);
//   DispatcherOptions options{.topics = {{"mail.welcome", {.rate = rate}},
//                                        {"mail.reminder", {.rate = rate}}}};
//
// Topics that share one share its rate, and so do all stores of a dispatcher. Another process has
// its own. What may not start yet goes back to the database until its turn, without an attempt: it
// holds no worker and no lease, and others pass it. Where more wait than an hour can take, the rest
// is tried again after half an hour to an hour.
//
// Thread safety: may be shared.
#pragma once

#include <memory>

#include "postroom/clock.hpp"

namespace postroom {

class SendRate {
public:
    static constexpr double per_second_min = 0.001;
    static constexpr double per_second_max = 1'000'000;

    // At once go as many as a quarter of a second takes, and at least one. Throws
    // std::out_of_range beyond the limits above.
    explicit SendRate(double per_second);
    SendRate(const SendRate&) = delete;
    SendRate& operator=(const SendRate&) = delete;
    ~SendRate();

    double per_second() const;

    // For the dispatcher, which asks by one clock. Whether a message may start now; take() counts
    // it.
    bool has(Instant now) const;
    bool take(Instant now);
    // How long one that may not start should rest: each has its turn behind the one before.
    Duration rest(Instant now);
    // When the next one that rests has its turn; Instant::max() when none rests.
    Instant next_turn(Instant now) const;

private:
    struct Bucket;
    const std::unique_ptr<Bucket> bucket_;
};

}  // namespace postroom
