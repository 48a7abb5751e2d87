#include "sinks/http/request.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "base/base64.hpp"
#include "base/json_text.hpp"
#include "base/rfc3339.hpp"
#include "base/utf8.hpp"
#include "postroom/handler.hpp"
#include "queue/message_json.hpp"
#include "sinks/http/header_names.hpp"

namespace postroom::sink_http {

namespace {

std::vector<webhooks::Key> keys_of(const std::vector<std::string>& secrets) {
    std::vector<webhooks::Key> keys;
    for (const std::string& secret : secrets)
        keys.push_back({.name = fmt::format("key {}", keys.size() + 1), .secret = secret});
    return keys;
}

// As the CloudEvents HTTP binding asks for (3.1.3.2): in UTF-8, with what is not visible ASCII, and
// the quote and the percent sign, as %XX.
std::string percent_encoded(std::string_view text, std::string_view also) {
    std::string out;
    for (const char c : text) {
        if (c >= ' ' && c <= '~' && also.find(c) == std::string_view::npos) {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        }
    }
    return out;
}

bool is_among(const std::vector<webhooks::Header>& headers, std::string_view name) {
    return std::ranges::any_of(headers, [low = lower(name)](const webhooks::Header& header) {
        return lower(header.name) == low;
    });
}

// The client library refuses more than a megabyte, bodies that travel with them included; servers
// take far less.
void require_fits(const std::vector<webhooks::Header>& headers) {
    constexpr std::size_t header_bytes_max = std::size_t{512} * 1024;
    std::size_t bytes = 0;
    for (const webhooks::Header& header : headers)
        bytes += header.name.size() + header.value.size() + std::string_view(": \r\n").size();
    if (bytes > header_bytes_max)
        throw PermanentFailure(fmt::format(
            "its headers take {} bytes, and a request has {} at most", bytes, header_bytes_max));
}

void add_message_headers(Request& request, const Message& message,
                         const std::vector<webhooks::Header>& configured) {
    for (const auto& [name, value] : message.headers) {
        if (!is_token(name))
            throw PermanentFailure("a header of the message has a name that HTTP cannot carry");
        if (!is_reserved(name) && !is_among(configured, name))
            request.headers.push_back({.name = name, .value = percent_encoded(value, "")});
    }
}

struct Attribute {
    std::string_view name;
    std::string value;
};

std::vector<Attribute> attributes_of(const Message& message, const std::string& source) {
    std::vector<Attribute> attributes{
        {"specversion", "1.0"},
        {"id", message.message_id.str()},
        {"source", source},
        {"type", message.topic},
        {"time", base::rfc3339(message.occurred_at.value_or(message.created_at))}};
    if (!message.aggregate_id.empty()) attributes.push_back({"subject", message.aggregate_id});
    if (!message.ordering_key.empty()) attributes.push_back({"partitionkey", message.ordering_key});
    if (!message.correlation_id.empty())
        attributes.push_back({"correlationid", message.correlation_id});
    return attributes;
}

// The member data or data_base64 (CloudEvents JSON format, 3.1).
std::string data_member(const Message& message) {
    if (is_json_content_type(message.content_type)) {
        if (const std::optional<std::string> json = base::compact_json(message.payload))
            return "\"data\":" + *json;
    } else if (lower(message.content_type).starts_with("text/") &&
               base::is_valid_utf8(message.payload)) {
        std::string out = "\"data\":";
        base::append_json_string(out, message.payload);
        return out;
    }
    return "\"data_base64\":\"" + base::base64_encode(message.payload) + '"';
}

std::string structured_body(const Message& message, const std::string& source) {
    std::string body = "{";
    std::vector<Attribute> attributes = attributes_of(message, source);
    attributes.push_back({"datacontenttype", message.content_type});
    for (const Attribute& attribute : attributes) {
        base::append_json_string(body, attribute.name);
        body += ':';
        base::append_json_string(body, attribute.value);
        body += ',';
    }
    return body + data_member(message) + '}';
}

}  // namespace

RequestMaker::RequestMaker(const HttpOptions& options)
    : format_(options.format),
      source_(options.source),
      authorization_(options.authorization),
      headers_(options.headers) {
    if (!options.signing_keys.empty()) scheme_.emplace(keys_of(options.signing_keys));
}

Request RequestMaker::make(const Message& message) const {
    Request request;
    add_body(request, message);
    if (!authorization_.empty())
        request.headers.push_back({.name = "authorization", .value = authorization_});
    if (scheme_) {
        try {
            for (webhooks::Header& header : scheme_->sign(message.message_id.str(), request.body))
                request.headers.push_back(std::move(header));
        } catch (const std::invalid_argument& error) {
            throw PermanentFailure(fmt::format("cannot be signed: {}", error.what()));
        }
    } else {
        request.headers.push_back(
            {.name = "webhook-id", .value = percent_encoded(message.message_id.str(), " \"%")});
    }
    request.headers.insert(request.headers.end(), headers_.begin(), headers_.end());
    add_message_headers(request, message, headers_);
    require_fits(request.headers);
    return request;
}

void RequestMaker::add_body(Request& request, const Message& message) const {
    const auto add = [&request](std::string name, std::string value) {
        request.headers.push_back({.name = std::move(name), .value = std::move(value)});
    };
    if (format_ == Format::structured) {
        add("content-type", "application/cloudevents+json");
        request.body = structured_body(message, source_);
        return;
    }
    add("content-type", percent_encoded(message.content_type, ""));
    request.body = message.payload;
    if (format_ == Format::plain) {
        add("postroom-topic", percent_encoded(message.topic, " \"%"));
        return;
    }
    for (const Attribute& attribute : attributes_of(message, source_))
        add(fmt::format("ce-{}", attribute.name), percent_encoded(attribute.value, " \"%"));
}

}  // namespace postroom::sink_http
