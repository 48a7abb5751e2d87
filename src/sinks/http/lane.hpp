// Lane: libcurl's multi interface, with the connections it keeps open, for one batch at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <curl/curl.h>

#include "sinks/http/address_guard.hpp"
#include "sinks/http/options.hpp"
#include "sinks/http/request.hpp"
#include "sinks/http/verdict.hpp"

namespace postroom::sink_http {

// What all lanes of a sink share. `last_answer` is when any request was answered last, in ticks of
// the steady clock: it tells a dead destination from a message that it does not answer.
struct LaneContext {
    const HttpOptions& options;
    const AddressGuard& guard;
    std::atomic<std::chrono::steady_clock::rep>& last_answer;
};

// Whether an error of libcurl is about the request itself: it never left, and others are no worse
// for it. Only what is known to be so is: all others, those of newer versions too, are faults of
// the destination or of this machine, and messages do not die of them.
bool is_of_the_request(CURLcode code);

// Whether it tells of a connection that ended over a request or its answer. Either side may be to
// blame, unlike for want of memory, say.
bool is_of_a_connection(CURLcode code);

// Thread safety: one thread at a time.
class Lane {
public:
    explicit Lane(const LaneContext& context);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    struct Script {
        // Request i, or nothing when it is not to be sent.
        std::function<std::optional<Request>(std::size_t i)> make;
        // Hears of each reply when it comes.
        std::function<void(const Reply&)> replied;
        // Whether requests under way must end before another one is made.
        std::function<bool()> hold;
    };

    // Makes and sends `count` requests, as many at a time as the options allow, each made right
    // before it is sent. Returns their replies in order; those not sent have the fault `stopped`.
    std::vector<Reply> run(std::size_t count, const Script& script, const std::stop_token& stop);

    // Connects, with TLS, and sends nothing. nullopt: that works.
    std::optional<std::string> why_unreachable();

private:
    struct Transfer;

    std::unique_ptr<Transfer> idle_transfer();
    void begin(std::unique_ptr<Transfer> transfer, std::size_t index, Request request);
    void collect(std::vector<Reply>& replies, const Script& script);
    void give_up(std::vector<Reply>& replies, const Script& script);
    Reply reply_of(const Transfer& transfer, CURLcode code) const;
    std::string excerpt_of(const Transfer& transfer) const;
    Reply fault_of(const Transfer& transfer, CURLcode code) const;

    const LaneContext context_;
    const std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_;
    std::vector<std::unique_ptr<Transfer>> running_;
    std::vector<std::unique_ptr<Transfer>> idle_;
};

}  // namespace postroom::sink_http
