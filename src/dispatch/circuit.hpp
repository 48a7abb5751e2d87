// Circuit: whether a destination is worth trying. Pure.
//
// One DestinationDown opens it: nothing is sent for a while that doubles with each failed probe.
// Then a single message probes. When that succeeds, the destination gets one message at a time,
// then two, four, ... and is closed again once it has borne as many as there are workers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/operator.hpp"

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

    // Returns true when that closed it, or opened it: something to notify others of.
    bool succeeded();
    bool failed(Instant now, std::string_view error = {});
    // Neither: the message's own fault, or not tried after all.
    void neither();

    bool may_start(Instant now) const;
    // Its last probe was answered: it is on its way back, and down no more.
    bool answers() const { return !open_until_ && allowed_ > 1; }

    // A message of this topic waits for it. A few topics are remembered.
    void note_waiting(const std::string& topic);
    CircuitReport report(const std::string& destination) const;
    // The next message may probe at once. Returns false when none had to wait.
    bool probe_now(Instant now);
    Instant next_probe() const { return next_probe_; }

private:
    const CircuitOptions options_;
    const std::uint32_t full_speed_;
    std::optional<Instant> since_{};  // it opened, and was not closed since
    Instant next_probe_{};
    std::string error_{};
    std::set<std::string> topics_{};
    std::optional<Instant> open_until_;
    Duration open_for_;          // how long the next opening lasts
    std::uint32_t allowed_ = 0;  // how many at a time while ramping up; 0: any number
    std::uint32_t running_ = 0;
    std::uint32_t borne_ = 0;  // successes at this number
};

// The circuits of all destinations. Only those that are not closed are kept, and of those no more
// than `circuits_max`: where every message has a topic of its own, none ever comes back to probe.
class Circuits {
public:
    static constexpr std::size_t circuits_max = 1000;

    Circuits(const CircuitOptions& options, std::uint32_t full_speed)
        : options_(options), full_speed_(full_speed) {}

    bool start(const std::string& destination, Instant now);
    Duration rest(const std::string& destination, Instant now) const;
    bool succeeded(const std::string& destination);
    bool failed(const std::string& destination, Instant now, std::string_view error = {});
    void neither(const std::string& destination);
    bool may_start(const std::string& destination, Instant now) const;
    bool answers(const std::string& destination) const;
    void note_waiting(const std::string& destination, const std::string& topic);
    bool probe_now(const std::string& destination, Instant now);
    // All that are not closed.
    std::vector<std::string> open() const;
    // Those that do not answer.
    std::vector<CircuitReport> reports() const;

private:
    void forget_one();

    const CircuitOptions options_;
    const std::uint32_t full_speed_;
    std::map<std::string, Circuit> circuits_;
};

}  // namespace postroom
