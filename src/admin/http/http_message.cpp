#include "admin/http/http_message.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/hex.hpp"
#include "base/json_writer.hpp"
#include "base/utf8.hpp"

namespace postroom::admin {

namespace {

std::string decoded(std::string_view text, bool plus_is_space) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            const std::optional<std::string> byte = base::hex_decode(text.substr(i + 1, 2));
            if (!byte || byte->size() != 1)
                throw Problem::bad_parameter("target", "a % must be followed by two digits");
            out += *byte;
            i += 2;
        } else {
            out += plus_is_space && text[i] == '+' ? ' ' : text[i];
        }
    }
    if (!base::is_valid_utf8(out) || out.find('\0') != std::string::npos)
        throw Problem::bad_parameter("target", "must be UTF-8 without NUL");
    return out;
}

void add_parameter(Parameters& query, std::string_view part) {
    if (part.empty()) return;
    const std::size_t equals = part.find('=');
    const std::string name = decoded(part.substr(0, equals), true);
    const std::string value =
        equals == std::string_view::npos ? "" : decoded(part.substr(equals + 1), true);
    if (!query.emplace(name, value).second)
        throw Problem::bad_parameter(name, "must be given once only");
}

template <class F>
void for_each_part(std::string_view text, char separator, F use) {
    while (true) {
        const std::size_t end = text.find(separator);
        use(text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

}  // namespace

std::optional<std::string> RequestHead::header(std::string_view name) const {
    for (const auto& [known, value] : headers)
        if (known == name) return value;
    return std::nullopt;
}

std::size_t RequestHead::count(std::string_view name) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(headers, [name](const auto& h) { return h.first == name; }));
}

Response json_response(std::string body, unsigned status) {
    return {.status = status, .body = std::move(body)};
}

Response text_response(std::string body, unsigned status) {
    return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(body)};
}

Problem::Problem(unsigned status, std::string type, std::string title, std::string detail,
                 std::string field)
    : std::runtime_error(std::move(title)),
      status_(status),
      type_(std::move(type)),
      detail_(std::move(detail)),
      field_(std::move(field)) {}

Problem& Problem::with_header(std::string name, std::string value) {
    headers_.emplace_back(std::move(name), std::move(value));
    return *this;
}

Response Problem::response() const {
    return {.status = status_,
            .content_type = "application/problem+json",
            .body = base::JsonObject()
                        .add("type", "urn:postroom:problem:" + type_)
                        .add("title", what())
                        .add("status", std::uint64_t{status_})
                        .add_text("detail", detail_)
                        .add_text("field", field_)
                        .text(),
            .headers = headers_};
}

Problem Problem::bad_parameter(const std::string& field, const std::string& what) {
    return {400, "invalid-parameter", "A parameter is wrong.", fmt::format("{}: {}", field, what),
            field};
}

Problem Problem::not_found(const std::string& what) {
    return {404, "not-found", "There is no such thing here.", what};
}

Problem Problem::unauthorized(const std::string& what) {
    Problem problem{401, "unauthorized", "A token is needed.", what};
    problem.with_header("WWW-Authenticate", "Bearer realm=\"postroom\"");
    return problem;
}

Problem Problem::forbidden(const std::string& type, const std::string& what) {
    return {403, type, "This is not allowed.", what};
}

Problem Problem::conflict(const std::string& what) {
    return {409, "conflict", "That does not fit the state of things.", what};
}

Problem Problem::too_many(const std::string& what, unsigned retry_after_seconds) {
    Problem problem{429, "too-many-requests", "Too many requests.", what};
    problem.with_header("Retry-After", fmt::format("{}", retry_after_seconds));
    return problem;
}

Problem Problem::too_large(const std::string& what) {
    return {413, "too-large", "The request is too large.", what};
}

Problem Problem::unavailable(const std::string& what) {
    return {503, "unavailable", "Not now; trying again may help.", what};
}

Target parse_target(std::string_view target) {
    if (!target.starts_with('/'))
        throw Problem::bad_parameter("target", "must be an absolute path");
    target = target.substr(0, target.find('#'));
    const std::size_t question = target.find('?');
    Target out{.path = std::string(target.substr(0, question))};
    for_each_part(std::string_view(out.path).substr(1), '/',
                  [&](std::string_view part) { out.segments.push_back(decoded(part, false)); });
    if (question != std::string_view::npos)
        for_each_part(target.substr(question + 1), '&',
                      [&](std::string_view part) { add_parameter(out.query, part); });
    return out;
}

}  // namespace postroom::admin
