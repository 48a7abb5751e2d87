// The headers of a request that claims to be a webhook: lines of "name: value", an empty line, and
// the body.
#include <algorithm>

#include "fuzz.hpp"
#include "postroom/testing.hpp"
#include "postroom/webhooks.hpp"

namespace postroom::fuzz {

namespace {

using webhooks::HeaderView;

struct Request {
    std::vector<HeaderView> headers{};
    std::string body{};
};

Request request_of(std::string_view rest) {
    Request request;
    while (!rest.empty()) {
        std::string_view value = cut(rest, '\n');
        if (value.empty()) break;
        const std::string_view name = cut(value, ':');
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        request.headers.push_back({name, value});
    }
    request.body = rest;
    return request;
}

void verify(const webhooks::Scheme& scheme, Request request) {
    const webhooks::Verification verification = scheme.verify(request.headers, request.body);
    require(!to_string(verification.authenticity).empty(), "the outcome has a name");
    if (!verification.ok()) return;
    require(!verification.key_name.empty(), "a genuine message names the key");
    request.body += ' ';
    require(!scheme.verify(request.headers, request.body).ok(), "another body is not genuine");
}

}  // namespace

void run(std::string_view input) {
    static const ManualClock clock;  // the signatures of the corpus are of the day it stands at
    static const webhooks::SchemeOptions options{.clock = &clock};
    static const webhooks::StandardWebhooks standard(
        {{"one", "whsec_cG9zdHJvb20tdGVzdC1rZXktbnVtYmVyLW9uZS4u"}}, options);
    static const webhooks::StripeStyle stripe({{"one", "whsec_postroom_stripe_style_secret"}},
                                              options);
    const Request request = request_of(input);
    verify(standard, request);
    verify(stripe, request);
}

}  // namespace postroom::fuzz
