// Collector: the other side of OTLP, as libcurl sees it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <curl/curl.h>

#include "postroom/otlp.hpp"

namespace postroom::otlp {

// `endpoint`, checked; with `path` behind its own. Throws std::invalid_argument, without its text.
std::string checked_url(const std::string& endpoint, std::string_view path = {});

// Throws std::invalid_argument for what HTTP does not take, without its text.
void check_headers(const Headers& headers);

// Scheme, host and port: what may be shown of a URL that was checked.
std::string origin_of(const std::string& url);

struct Posted {
    std::string error{};   // empty: it was taken
    bool passing = false;  // the same may go well later
};

// Thread safety: post() by one thread; give_up_at() by any.
class Collector {
public:
    using Time = std::chrono::steady_clock::time_point;

    // Throws std::invalid_argument.
    explicit Collector(const OtlpOptions& options);

    Posted post(const std::string& json);

    // No request lasts longer than that, not even the one under way; a second later, at most.
    void give_up_at(Time time) { end_ = time.time_since_epoch().count(); }

private:
    static int progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept;
    Duration left() const;
    void set_up(const OtlpOptions& options);

    const Duration timeout_;
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
    std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_;
    std::atomic<Time::rep> end_;
};

}  // namespace postroom::otlp
