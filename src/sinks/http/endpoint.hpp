// Endpoint: a destination's settings, and what all senders to it know of it together.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "queue/suspects.hpp"
#include "sinks/http/address_guard.hpp"
#include "sinks/http/options.hpp"
#include "sinks/http/request.hpp"

namespace postroom::sink_http {

// Thread safety: may be shared between threads.
class Endpoint {
public:
    using SteadyClock = std::chrono::steady_clock;

    // Throws std::invalid_argument for a signing key that is none.
    explicit Endpoint(HttpOptions given)
        : options(std::move(given)),
          guard(options.allowed_networks),
          maker(options),
          suspects(options.unanswered_max) {}

    // It has asked for a pause that is not over.
    bool is_quiet() const { return SteadyClock::now().time_since_epoch().count() < quiet_until_; }

    // Of several answers that ask for it the longest pause counts.
    void be_quiet_until(SteadyClock::time_point end) {
        const SteadyClock::rep until = end.time_since_epoch().count();
        SteadyClock::rep known = quiet_until_;
        while (known < until && !quiet_until_.compare_exchange_weak(known, until)) {
        }
    }

    std::string quiet_text() const { return options.origin + " has asked for a pause"; }
    std::string gone_text() const {
        return options.origin + " answered 410 Gone: the endpoint is disabled until a restart";
    }

    const HttpOptions options;
    const AddressGuard guard;
    const RequestMaker maker;
    Suspects suspects;
    std::atomic<SteadyClock::rep> last_answer{0};
    std::atomic<bool> gone{false};

private:
    std::atomic<SteadyClock::rep> quiet_until_{0};
};

}  // namespace postroom::sink_http
