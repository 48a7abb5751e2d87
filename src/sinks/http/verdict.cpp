#include "sinks/http/verdict.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

namespace postroom::sink_http {

namespace {

constexpr long status_too_many_requests = 429;
constexpr long status_unavailable = 503;

bool is_one_of(long status, std::initializer_list<long> statuses) {
    return std::ranges::find(statuses, status) != statuses.end();
}

// What a gateway says whose destination is down: bad gateway, unavailable, timed out.
bool is_gateway_status(long status) { return is_one_of(status, {502, status_unavailable, 504}); }

// It is not the message that is wrong but who sends it, or where to: until somebody mends that,
// messages should wait and not die at once.
bool is_misconfigured(long status) { return is_one_of(status, {401, 403, 404, 405, 407}); }

// Whether it says that the same request may be accepted later.
bool is_transient(long status) {
    return is_one_of(status, {408, 425}) || status < 400 || status >= 500;
}

bool is_success(long status) { return status >= 200 && status < 300; }

}  // namespace

bool asks_for_a_pause(const Reply& reply) {
    return reply.fault == Reply::Fault::none &&
           (reply.status == status_too_many_requests ||
            (reply.status == status_unavailable && reply.retry_after));
}

bool is_in_doubt(const Reply& reply) {
    if (reply.fault == Reply::Fault::none)
        return is_gateway_status(reply.status) && !asks_for_a_pause(reply);
    // A destination that answers others meanwhile is up: then it is this message.
    return reply.fault == Reply::Fault::lost ||
           (reply.fault == Reply::Fault::no_reply && !reply.others_answered);
}

bool is_served(const Reply& reply) {
    return reply.fault == Reply::Fault::none && !is_in_doubt(reply) && !asks_for_a_pause(reply);
}

std::string text_of(const Reply& reply, const std::string& origin) {
    if (reply.fault != Reply::Fault::none) return fmt::format("{}: {}", origin, reply.why);
    std::string text = fmt::format("{} answered {}", origin, reply.status);
    if (reply.status >= 300 && reply.status < 400) text += "; redirects are not followed";
    if (is_misconfigured(reply.status)) text += "; are 'url' and 'authorization' right?";
    if (!reply.excerpt.empty()) text += fmt::format(": {}", reply.excerpt);
    return text;
}

Verdict verdict_of(const Reply& reply, const std::string& origin) {
    switch (reply.fault) {
        case Reply::Fault::none:
            if (is_success(reply.status)) return Verdict::done();
            if (is_transient(reply.status) || is_misconfigured(reply.status))
                return Verdict::retry(text_of(reply, origin), reply.retry_after);
            return Verdict::fail(text_of(reply, origin));
        case Reply::Fault::down:
            return Verdict::down(text_of(reply, origin));
        case Reply::Fault::stopped:
            return {.outcome = Outcome::release,
                    .error = text_of(reply, origin),
                    .delay = Duration::zero()};
        case Reply::Fault::lost:
        case Reply::Fault::no_reply:
        case Reply::Fault::broken:
        case Reply::Fault::local:
            break;
    }
    return Verdict::retry(text_of(reply, origin));
}

}  // namespace postroom::sink_http
