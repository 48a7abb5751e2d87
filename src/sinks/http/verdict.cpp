#include "sinks/http/verdict.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace postroom::sink_http {

namespace {

constexpr long status_request_timeout = 408;
constexpr long status_too_early = 425;
constexpr long status_too_many_requests = 429;
constexpr long status_unavailable = 503;

Verdict released(std::string why, Duration delay) {
    return {.outcome = Outcome::release, .error = std::move(why), .delay = delay};
}

// Whether it says that the same request may be accepted later.
bool is_transient(long status) {
    return status == status_request_timeout || status == status_too_early ||
           status == status_too_many_requests || status < 400 || status >= 500;
}

Verdict verdict_of_status(const Reply& reply, const std::string& origin, Duration retry_after_max) {
    if (reply.status >= 200 && reply.status < 300) return Verdict::done();
    std::string why = fmt::format("{} answered {}", origin, reply.status);
    if (reply.status >= 300 && reply.status < 400) why += "; redirects are not followed";
    if (!is_transient(reply.status)) return Verdict::fail(std::move(why));
    std::optional<Duration> delay = reply.retry_after;
    if (delay) delay = std::min(*delay, retry_after_max);
    // The destination asks for a pause, whatever the message: that is no failed attempt.
    if (delay && (reply.status == status_too_many_requests || reply.status == status_unavailable))
        return released(std::move(why), *delay);
    return Verdict::retry(std::move(why), delay);
}

}  // namespace

Verdict verdict_of(const Reply& reply, const std::string& origin, Duration retry_after_max) {
    const std::string why = fmt::format("{}: {}", origin, reply.why);
    switch (reply.fault) {
        case Reply::Fault::none:
            return verdict_of_status(reply, origin, retry_after_max);
        case Reply::Fault::down:
            return Verdict::down(why);
        // A destination that answers others is up: then it is this message that it chokes on.
        case Reply::Fault::no_reply:
            return reply.others_answered ? Verdict::retry(why) : Verdict::down(why);
        case Reply::Fault::stopped:
            return released(why, Duration::zero());
        case Reply::Fault::broken:
            break;
    }
    return Verdict::retry(why);
}

}  // namespace postroom::sink_http
