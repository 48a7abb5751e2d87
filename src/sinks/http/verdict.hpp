// What an answer, or the lack of one, means for the message.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "postroom/handler.hpp"

namespace postroom::sink_http {

struct Reply {
    enum class Fault : std::uint8_t {
        none,      // an answer came; `status` is its
        down,      // no connection
        lost,      // connected, and the connection broke before the answer was complete
        no_reply,  // connected, sent, and the time was up
        stopped,   // given up because the sink was asked to stop
        broken,    // what came was no HTTP
        local,     // never sent: this side could not make a request of the message
    };
    Fault fault = Fault::none;
    long status = 0;
    std::optional<Duration> retry_after{};
    std::string why{};             // without the URL, which may hold a secret
    std::string excerpt{};         // how the answer begins, harmless to show
    bool others_answered = false;  // no_reply: the destination answered others meanwhile
    std::chrono::steady_clock::time_point begun{};
    std::chrono::steady_clock::time_point ended{};
};

inline constexpr long status_gone = 410;

// The destination itself has answered: whatever it says, it works.
bool is_served(const Reply& reply);

// No answer of the destination's own came, and either side may be to blame; see Suspects.
bool is_in_doubt(const Reply& reply);

// It asks for a pause, whatever the message: never the message's fault.
bool asks_for_a_pause(const Reply& reply);

// What became of the request, in words. `origin` goes into the text.
std::string text_of(const Reply& reply, const std::string& origin);

// For replies that are neither in doubt nor ask for a pause.
Verdict verdict_of(const Reply& reply, const std::string& origin);

}  // namespace postroom::sink_http
