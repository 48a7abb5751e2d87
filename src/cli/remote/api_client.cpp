#include "cli/remote/api_client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "base/json_fields.hpp"
#include "base/loopback.hpp"
#include "cli/failure.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

constexpr long timeout_seconds = 60;
constexpr std::size_t answer_bytes_max = std::size_t{64} * 1024 * 1024;

std::string without_slash(std::string url) {
    while (url.ends_with('/')) url.pop_back();
    return url;
}

// Empty for what is no URL.
std::string host_of(const std::string& url) {
    const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), &curl_url_cleanup);
    char* host = nullptr;
    if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
        curl_url_get(parsed.get(), CURLUPART_HOST, &host, 0) != CURLUE_OK)
        return "";
    const std::unique_ptr<char, decltype(&curl_free)> held(host, &curl_free);
    return host;
}

std::string token_from_environment() {
    const char* const token = std::getenv("POSTROOM_TOKEN");
    return token == nullptr ? "" : token;
}

std::size_t take(char* data, std::size_t size, std::size_t count, void* out) {
    auto& body = *static_cast<std::string*>(out);
    if (body.size() + size * count > answer_bytes_max) return 0;
    body.append(data, size * count);
    return size * count;
}

// What RFC 9457 calls the detail, or the title.
std::string told_by(const ApiAnswer& answer) {
    std::string told = fmt::format("it answered {}", answer.status);
    try {
        for (const base::JsonField& field : base::json_fields(answer.body))
            if (field.key == "title" || field.key == "detail") told = field.text;
    } catch (const std::invalid_argument&) {
        // Something else than our server is there; the status has to do.
    }
    return told;
}

ExitCode code_of(long status) {
    if (status == 404) return ExitCode::not_found;
    if (status == 401 || status == 403) return ExitCode::config;
    if (status == 400) return ExitCode::usage;
    return status == 503 || status == 429 ? ExitCode::unavailable : ExitCode::failed;
}

std::string query_text(const ApiClient::Query& query) {
    std::string text;
    for (const auto& [name, value] : query) {
        text += fmt::format("{}{}={}", text.empty() ? '?' : '&', name, ApiClient::escaped(value));
    }
    return text;
}

std::string target_of(const std::string& path, const ApiClient::Query& query) {
    return path + query_text(query);
}

}  // namespace

ApiClient::ApiClient(std::string url)
    : url_(without_slash(std::move(url))),
      token_(token_from_environment()),
      here_(base::is_loopback(host_of(url_))) {
    if (!url_.starts_with("http://") && !url_.starts_with("https://"))
        throw Failure(ExitCode::usage, fmt::format("'{}' is no address of a relay; one looks like "
                                                   "http://127.0.0.1:8025",
                                                   printable(url_)));
}

std::string ApiClient::escaped(const std::string& text) {
    const std::unique_ptr<char, decltype(&curl_free)> out(
        curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), &curl_free);
    return out.get();
}

void ApiClient::warn_of_plain_text() const {
    if (token_.empty() || here_ || !url_.starts_with("http://")) return;
    complain(fmt::format("warning: the token goes to {} unencrypted; https:// keeps it secret",
                         printable(url_)));
}

ApiAnswer ApiClient::send(const std::string& target, const std::string* json) const {
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                   &curl_easy_cleanup);
    std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(nullptr,
                                                                        &curl_slist_free_all);
    const auto add_header = [&](const std::string& line) {
        headers.reset(curl_slist_append(headers.release(), line.c_str()));
    };
    if (!token_.empty()) add_header("Authorization: Bearer " + token_);
    if (json != nullptr) add_header("Content-Type: application/json");
    add_header("Expect:");
    ApiAnswer answer;
    const std::string url = url_ + target;
    curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    if (here_) curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
    curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, timeout_seconds);
    curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &take);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
    if (json != nullptr) {
        curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                         static_cast<curl_off_t>(json->size()));
        curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, json->data());
    }
    const CURLcode code = curl_easy_perform(curl.get());
    if (code != CURLE_OK)
        throw Failure(ExitCode::unavailable,
                      fmt::format("{}: {}", printable(url_), curl_easy_strerror(code)));
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    return answer;
}

std::string ApiClient::good(const ApiAnswer& answer) const {
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw Failure(code_of(answer.status),
                  fmt::format("{}: {}{}", printable(url_), told_by(answer),
                              answer.status == 401 ? "; POSTROOM_TOKEN holds it" : ""));
}

ApiAnswer ApiClient::get(const std::string& path) const { return send(path, nullptr); }

std::string ApiClient::fetch(const std::string& path, const Query& query) const {
    return good(send(target_of(path, query), nullptr));
}

std::string ApiClient::post(const std::string& path, const Query& query,
                            const std::string& json) const {
    return good(send(target_of(path, query), &json));
}

}  // namespace postroom::cli
