// RequestMaker: a message as an HTTP request. Knows the formats and the signature, not the network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postroom/message.hpp"
#include "postroom/webhooks.hpp"
#include "sinks/http/options.hpp"

namespace postroom::sink_http {

struct Request {
    std::vector<webhooks::Header> headers{};
    std::string body{};
};

// Thread safety: may be shared between threads.
class RequestMaker {
public:
    // Throws std::invalid_argument for a signing key that is none, without its text.
    explicit RequestMaker(const HttpOptions& options);

    // Throws PermanentFailure for a message that cannot be said in HTTP. Signed with the current
    // time: make it when it is sent.
    Request make(const Message& message) const;

private:
    void add_body(Request& request, const Message& message) const;

    const Format format_;
    const std::string source_;
    const std::string authorization_;
    const std::vector<webhooks::Header> headers_;
    std::optional<webhooks::StandardWebhooks> scheme_;
};

}  // namespace postroom::sink_http
