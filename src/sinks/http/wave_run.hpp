// WaveRun: one wave on its way to an endpoint, and what its replies mean for each message.
//
// Suspects go last and one at a time: when one of them takes the destination down, the connections
// of no others break with it. The messages that were served before it show whose fault that is.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "queue/key_order.hpp"
#include "sinks/http/endpoint.hpp"
#include "sinks/http/lane.hpp"

namespace postroom::sink_http {

// Thread safety: one thread at a time.
class WaveRun {
public:
    // All must outlive it.
    WaveRun(Endpoint& endpoint, Lane& lane, Wave wave, const std::stop_token& stop)
        : endpoint_(endpoint), lane_(lane), wave_(wave), stop_(stop), verdicts_(wave.size()) {}

    // Sends each message at most once. To be called once.
    std::vector<Verdict> send();

private:
    using Positions = std::span<const std::size_t>;
    using Time = std::chrono::steady_clock::time_point;

    void send_together(Positions positions);
    void send_one_by_one(Positions suspects);
    std::optional<Request> make(std::size_t position);
    void note(const Reply& reply);
    bool asks_for_a_pause_of_all() const { return pause_asked_ && !last_served_; }
    Verdict judge(const Message& message, const Reply& reply);
    Verdict judge_pause(const Reply& reply);
    Verdict judge_in_doubt(const Message& message, const Reply& reply);

    Endpoint& endpoint_;
    Lane& lane_;
    const Wave wave_;
    const std::stop_token& stop_;
    std::vector<std::optional<Verdict>> verdicts_;
    std::optional<Verdict> outage_{};    // what the rest is told without being sent
    std::optional<Time> last_served_{};  // when the latest answer came to one of the wave
    bool pause_asked_ = false;
};

}  // namespace postroom::sink_http
