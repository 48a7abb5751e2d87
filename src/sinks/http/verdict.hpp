// What an answer, or the lack of one, means for the message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "postroom/handler.hpp"

namespace postroom::sink_http {

struct Reply {
    enum class Fault : std::uint8_t {
        none,      // an answer came; `status` is its
        down,      // no connection, or one that broke
        no_reply,  // connected, sent, and the time was up
        stopped,   // given up because the sink was asked to stop
        broken,    // what came was no HTTP
    };
    Fault fault = Fault::none;
    long status = 0;
    std::optional<Duration> retry_after{};
    std::string why{};             // without the URL, which may hold a secret
    bool others_answered = false;  // no_reply: the destination answered others meanwhile
};

inline constexpr long status_gone = 410;

// `origin` goes into the text; no wait is longer than `retry_after_max`.
Verdict verdict_of(const Reply& reply, const std::string& origin, Duration retry_after_max);

}  // namespace postroom::sink_http
