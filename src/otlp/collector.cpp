#include "otlp/collector.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

namespace postroom::otlp {

namespace {

using UrlParts = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

CURL* new_easy() {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    CURL* const easy = curl_easy_init();
    if (easy == nullptr) throw std::bad_alloc();
    return easy;
}

std::string part_of(const UrlParts& parts, CURLUPart which) {
    char* text = nullptr;
    if (curl_url_get(parts.get(), which, &text, 0) != CURLUE_OK) return {};
    const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
    return text;
}

UrlParts parts_of(const std::string& url) {
    UrlParts parts(curl_url(), &curl_url_cleanup);
    if (parts == nullptr) throw std::bad_alloc();
    const bool parsed = curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
    const std::string scheme = part_of(parts, CURLUPART_SCHEME);
    if (!parsed || (scheme != "http" && scheme != "https"))
        throw std::invalid_argument(
            "not the URL of a collector; one looks like http://127.0.0.1:4318");
    return parts;
}

bool is_visible(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

void add_header(std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>& list,
                const std::string& line) {
    curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(list.release());
    list.reset(longer);
}

std::size_t ignore(char*, std::size_t size, std::size_t count, void*) { return size * count; }

// As OTLP says.
bool is_passing(long status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

std::string checked_url(const std::string& endpoint, std::string_view path) {
    const UrlParts parts = parts_of(endpoint);
    if (path.empty()) return endpoint;
    std::string whole = part_of(parts, CURLUPART_PATH);
    while (whole.ends_with('/')) whole.pop_back();
    whole += path;
    curl_url_set(parts.get(), CURLUPART_PATH, whole.c_str(), 0);
    return part_of(parts, CURLUPART_URL);
}

void check_headers(const Headers& headers) {
    for (const auto& [name, value] : headers)
        if (name.empty() || !is_visible(name) || !is_visible(value) ||
            name.find_first_of(" :") != std::string::npos)
            throw std::invalid_argument("not a header of HTTP");
}

std::string origin_of(const std::string& url) {
    const UrlParts parts = parts_of(url);
    const std::string port = part_of(parts, CURLUPART_PORT);
    return fmt::format("{}://{}{}{}", part_of(parts, CURLUPART_SCHEME),
                       part_of(parts, CURLUPART_HOST), port.empty() ? "" : ":", port);
}

Collector::Collector(const OtlpOptions& options)
    : timeout_(options.timeout),
      curl_(new_easy(), &curl_easy_cleanup),
      headers_(nullptr, &curl_slist_free_all),
      end_(Time::max().time_since_epoch().count()) {
    set_up(options);
}

void Collector::set_up(const OtlpOptions& options) {
    CURL* const curl = curl_.get();
    const std::string url = checked_url(options.url);
    check_headers(options.headers);
    for (const auto& [name, value] : options.headers) {
        // A semicolon is how libcurl is told of a header without a value.
        add_header(headers_, value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
    }
    add_header(headers_, "Content-Type: application/json");
    add_header(headers_, "Expect:");
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "postroom/" POSTROOM_VERSION);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);  // waits for no name server that is silent
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &ignore);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Collector::progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
    if (!options.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, options.ca_file.c_str());
}

Duration Collector::left() const {
    const Time end{Time::duration(end_.load())};
    return std::chrono::duration_cast<Duration>(end - std::chrono::steady_clock::now());
}

int Collector::progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
    return static_cast<const Collector*>(self)->left() <= Duration::zero() ? 1 : 0;
}

Posted Collector::post(const std::string& json) {
    const Duration time = std::min(timeout_, left());
    if (time <= Duration::zero()) return {.error = "no time is left"};
    CURL* const curl = curl_.get();
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(time).count();
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(milliseconds));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json.data());
    const CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK) return {.error = curl_easy_strerror(code), .passing = true};
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) return {};
    return {.error = fmt::format("it answered {}", status), .passing = is_passing(status)};
}

}  // namespace postroom::otlp
