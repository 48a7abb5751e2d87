// Circuit: whether a destination is worth trying. Pure.
//
// One DestinationDown opens it: nothing is sent for a while that doubles with each failed probe.
// Then a single message probes. When that succeeds, the destination gets one message at a time,
// then two, four, ... and is closed again once it has borne as many as there are workers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "postroom/clock.hpp"

namespace postroom {

struct CircuitOptions {
    Duration open_for = std::chrono::seconds{1};
    Duration open_for_max = std::chrono::seconds{60};
};

class Circuit {
public:
    Circuit(const CircuitOptions& options, std::uint32_t full_speed)
        : options_(options), full_speed_(full_speed), open_for_(options.open_for) {}

    // Whether a message may start now; if so it counts as running until one of the outcomes below.
    bool start(Instant now);

    // How long a message that may not start should rest.
    Duration rest(Instant now) const;

    // Returns true when that closed it, or opened it: something to tell.
    bool succeeded();
    bool failed(Instant now);
    // Neither: the message's own fault, or not tried after all.
    void neither();

    bool may_start(Instant now) const;

private:
    const CircuitOptions options_;
    const std::uint32_t full_speed_;
    std::optional<Instant> open_until_;
    Duration open_for_;          // how long the next opening lasts
    std::uint32_t allowed_ = 0;  // how many at a time while ramping up; 0: any number
    std::uint32_t running_ = 0;
    std::uint32_t borne_ = 0;  // successes at this number
};

// The circuits of all destinations. Only those that are not closed are kept.
class Circuits {
public:
    Circuits(const CircuitOptions& options, std::uint32_t full_speed)
        : options_(options), full_speed_(full_speed) {}

    bool start(const std::string& destination, Instant now);
    Duration rest(const std::string& destination, Instant now) const;
    bool succeeded(const std::string& destination);
    bool failed(const std::string& destination, Instant now);
    void neither(const std::string& destination);
    bool may_start(const std::string& destination, Instant now) const;
    // All that are not closed.
    std::vector<std::string> open() const;

private:
    const CircuitOptions options_;
    const std::uint32_t full_speed_;
    std::map<std::string, Circuit> circuits_;
};

}  // namespace postroom
