#include "sinks/http/lane.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <sys/socket.h>

#include "base/assert.hpp"
#include "base/descriptors.hpp"
#include "base/printable.hpp"
#include "sinks/http/secrets.hpp"

namespace postroom::sink_http {

namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t response_bytes_max = std::size_t{64} * 1024;
constexpr int poll_wait_ms = 1000;

void start_libcurl_once() {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

long in_milliseconds(Duration duration) {
    return static_cast<long>(std::chrono::ceil<milliseconds>(duration).count());
}

std::string in_one_line(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    return text;
}

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(easy, option, value);
    if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
}

// What the system says of a connection that could not be made; empty: nothing.
std::string system_words(CURL* easy) {
    long error = 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &error);
    return error == 0 ? "" : std::system_category().message(static_cast<int>(error));
}

}  // namespace

struct Lane::Transfer {
    explicit Transfer(const AddressGuard& address_guard)
        : easy(curl_easy_init(), &curl_easy_cleanup),
          headers(nullptr, &curl_slist_free_all),
          guard(address_guard) {
        if (easy == nullptr) throw std::bad_alloc();
    }

    // Judges the address that is about to be connected to; libcurl goes on to the next one.
    static curl_socket_t open_socket(void* self, curlsocktype /*purpose*/,
                                     curl_sockaddr* address) noexcept {
        Transfer& transfer = *static_cast<Transfer*>(self);
        const std::optional<Address> peer = address_from(address->addr);
        if (!peer || !transfer.guard.allows(*peer)) {
            transfer.refused = peer;
            return CURL_SOCKET_BAD;
        }
        return base::private_socket(address->family, address->socktype, address->protocol);
    }

    // The answer's body is read, so that the connection can be used again; its beginning is kept.
    static std::size_t take_bytes(char* bytes, std::size_t size, std::size_t count,
                                  void* self) noexcept {
        Transfer& transfer = *static_cast<Transfer*>(self);
        const std::size_t length = size * count;
        const std::size_t room = transfer.excerpt_bytes_max - transfer.excerpt.size();
        transfer.excerpt.append(bytes, std::min(length, room));
        transfer.received += length;
        return transfer.received > response_bytes_max ? 0 : length;
    }

    void add_line(const std::string& line) {
        curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
        if (longer == nullptr) throw std::bad_alloc();
        (void)headers.release();
        headers.reset(longer);
    }

    void add_headers() {
        headers.reset();
        // libcurl's ways of saying that a header is there and empty, and that it is not wanted.
        for (const webhooks::Header& header : request.headers)
            add_line(header.value.empty() ? header.name + ";" : header.name + ": " + header.value);
        add_line("Expect:");
    }

    void prepare(const HttpOptions& options, std::size_t position, Request made) {
        index = position;
        request = std::move(made);
        received = 0;
        excerpt.clear();
        excerpt_bytes_max = options.excerpt_bytes_max;
        excerpt.reserve(excerpt_bytes_max);
        refused.reset();
        add_headers();
        curl_easy_reset(easy.get());
        set_options(options);
        begun = SteadyClock::now();
    }

    void set_options(const HttpOptions& options) {
        CURL* const handle = easy.get();
        set(handle, CURLOPT_PRIVATE, this);
        set(handle, CURLOPT_URL, options.url.c_str());
        set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
        set(handle, CURLOPT_NOSIGNAL, 1L);
        set(handle, CURLOPT_FOLLOWLOCATION, 0L);
        // A proxy connects for us, where the guard cannot see it: never one of the environment.
        set(handle, CURLOPT_PROXY, options.proxy.c_str());
        set(handle, CURLOPT_NOPROXY, "");
        set_tls(options);
        set(handle, CURLOPT_TIMEOUT_MS, in_milliseconds(options.timeout));
        set(handle, CURLOPT_CONNECTTIMEOUT_MS, in_milliseconds(options.connect_timeout));
        set(handle, CURLOPT_USERAGENT, "postroom");
        set(handle, CURLOPT_HTTPHEADER, headers.get());
        set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        set(handle, CURLOPT_POSTFIELDS, request.body.data());
        set(handle, CURLOPT_OPENSOCKETFUNCTION, &Transfer::open_socket);
        set(handle, CURLOPT_OPENSOCKETDATA, this);
        set(handle, CURLOPT_WRITEFUNCTION, &Transfer::take_bytes);
        set(handle, CURLOPT_WRITEDATA, this);
    }

    void set_tls(const HttpOptions& options) {
        CURL* const handle = easy.get();
        set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
        if (!options.ca_file.empty()) set(handle, CURLOPT_CAINFO, options.ca_file.c_str());
        if (options.certificate_file.empty()) return;
        set(handle, CURLOPT_SSLCERT, options.certificate_file.c_str());
        set(handle, CURLOPT_SSLKEY, options.key_file.c_str());
    }

    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy;
    std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers;
    const AddressGuard& guard;
    std::size_t index = 0;
    Request request{};
    std::size_t received = 0;
    std::string excerpt{};
    std::size_t excerpt_bytes_max = 0;
    std::optional<Address> refused{};
    SteadyClock::time_point begun{};
};

bool is_of_the_request(CURLcode code) {
    switch (code) {
        case CURLE_URL_MALFORMAT:
        case CURLE_READ_ERROR:
        case CURLE_BAD_FUNCTION_ARGUMENT:
        case CURLE_SEND_FAIL_REWIND:
            return true;
        default:
            return false;
    }
}

bool is_of_a_connection(CURLcode code) {
    switch (code) {
        case CURLE_HTTP2:
        case CURLE_HTTP2_STREAM:
        case CURLE_PARTIAL_FILE:
        case CURLE_WRITE_ERROR:
        case CURLE_GOT_NOTHING:
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
        case CURLE_BAD_CONTENT_ENCODING:
            return true;
        default:
            return false;
    }
}

Lane::Lane(const LaneContext& context)
    : context_(context), multi_((start_libcurl_once(), curl_multi_init()), &curl_multi_cleanup) {
    if (multi_ == nullptr) throw std::bad_alloc();
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS,
                      static_cast<long>(context_.options.concurrency));
}

Lane::~Lane() {
    for (const std::unique_ptr<Transfer>& transfer : running_)
        curl_multi_remove_handle(multi_.get(), transfer->easy.get());
}

std::unique_ptr<Lane::Transfer> Lane::idle_transfer() {
    if (idle_.empty()) return std::make_unique<Transfer>(context_.guard);
    std::unique_ptr<Transfer> transfer = std::move(idle_.back());
    idle_.pop_back();
    return transfer;
}

void Lane::begin(std::unique_ptr<Transfer> transfer, std::size_t index, Request request) {
    transfer->prepare(context_.options, index, std::move(request));
    const CURLMcode code = curl_multi_add_handle(multi_.get(), transfer->easy.get());
    if (code != CURLM_OK) throw std::runtime_error(curl_multi_strerror(code));
    running_.push_back(std::move(transfer));
}

std::vector<Reply> Lane::run(std::size_t count, const Script& script, const std::stop_token& stop) {
    std::vector<Reply> replies(
        count, Reply{.fault = Reply::Fault::stopped, .why = "the sink was asked to stop"});
    const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_.get()); });
    std::size_t next = 0;
    while (next < count || !running_.empty()) {
        if (stop.stop_requested()) {
            give_up(replies, script);
            break;
        }
        while (next < count && running_.size() < context_.options.concurrency &&
               (running_.empty() || !script.hold())) {
            std::optional<Request> request = script.make(next);
            if (request) begin(idle_transfer(), next, *std::move(request));
            ++next;
        }
        if (running_.empty()) continue;
        int still_running = 0;
        curl_multi_perform(multi_.get(), &still_running);
        const std::size_t before = running_.size();
        collect(replies, script);
        if (running_.size() == before)
            curl_multi_poll(multi_.get(), nullptr, 0, poll_wait_ms, nullptr);
    }
    return replies;
}

std::optional<std::string> Lane::why_unreachable() {
    const std::unique_ptr<Transfer> transfer = idle_transfer();
    transfer->prepare(context_.options, 0, {});
    set(transfer->easy.get(), CURLOPT_CONNECT_ONLY, 1L);
    const CURLcode code = curl_easy_perform(transfer->easy.get());
    if (code == CURLE_OK) return std::nullopt;
    return fault_of(*transfer, code).why;
}

void Lane::collect(std::vector<Reply>& replies, const Script& script) {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL* const easy = message->easy_handle;
        const CURLcode code = message->data.result;
        const auto found = std::ranges::find_if(
            running_, [easy](const auto& transfer) { return transfer->easy.get() == easy; });
        POSTROOM_ASSERT(found != running_.end());
        Reply& reply = replies[(*found)->index];
        reply = reply_of(**found, code);
        reply.ended = SteadyClock::now();
        script.replied(reply);
        curl_multi_remove_handle(multi_.get(), easy);
        idle_.push_back(std::move(*found));
        running_.erase(found);
    }
}

void Lane::give_up(std::vector<Reply>& replies, const Script& script) {
    collect(replies, script);  // what was answered in the last moment counts
    for (std::unique_ptr<Transfer>& transfer : running_) {
        curl_multi_remove_handle(multi_.get(), transfer->easy.get());
        idle_.push_back(std::move(transfer));
    }
    running_.clear();
}

Reply Lane::reply_of(const Transfer& transfer, CURLcode code) const {
    long status = 0;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    // An answer that is too long was cut off by us; its status counts.
    const bool answered =
        code == CURLE_OK || (code == CURLE_WRITE_ERROR && transfer.received > response_bytes_max);
    if (!answered || status == 0) return fault_of(transfer, code);
    context_.last_answer = SteadyClock::now().time_since_epoch().count();
    Reply reply{.status = status,
                .excerpt = base::printable(in_one_line(excerpt_of(transfer))),
                .begun = transfer.begun};
    curl_off_t seconds = 0;
    if (curl_easy_getinfo(transfer.easy.get(), CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK &&
        seconds > 0)
        reply.retry_after = std::min<Duration>(
            std::chrono::seconds(std::min<curl_off_t>(seconds, std::int64_t{1} << 32)),
            context_.options.retry_after_max);
    return reply;
}

// A gateway may answer with what it was sent, headers included.
std::string Lane::excerpt_of(const Transfer& transfer) const {
    if (transfer.excerpt.empty()) return {};
    return without_secrets(transfer.excerpt, secrets_of(context_.options, transfer.request),
                           transfer.received > transfer.excerpt.size());
}

Reply Lane::fault_of(const Transfer& transfer, CURLcode code) const {
    Reply reply{
        .fault = Reply::Fault::down, .why = curl_easy_strerror(code), .begun = transfer.begun};
    curl_off_t connected = 0;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_PRETRANSFER_TIME_T, &connected);
    if (is_of_the_request(code)) {
        reply.fault = Reply::Fault::local;
        reply.why = fmt::format("the request cannot be sent ({})", curl_easy_strerror(code));
    } else if (code == CURLE_COULDNT_CONNECT && transfer.refused) {
        reply.why = fmt::format("{} is not a public address; see allow_networks",
                                to_string(*transfer.refused));
    } else if (code == CURLE_COULDNT_CONNECT) {
        const std::string words = system_words(transfer.easy.get());
        const char* const way = context_.options.proxy.empty() ? "" : "connecting to the proxy: ";
        if (!words.empty()) reply.why = way + words;
    } else if (code == CURLE_OPERATION_TIMEDOUT && connected > 0) {
        reply.fault = Reply::Fault::no_reply;
        reply.why = "no answer in time";
        // An answer at the beginning of the wait proves nothing: the peer may have died after it.
        const SteadyClock::time_point since = transfer.begun + context_.options.timeout / 2;
        reply.others_answered = context_.last_answer.load() > since.time_since_epoch().count();
    } else if (code == CURLE_OK || code == CURLE_WEIRD_SERVER_REPLY ||
               code == CURLE_UNSUPPORTED_PROTOCOL) {
        reply.fault = Reply::Fault::broken;
        reply.why = "the answer is not HTTP";
    } else if (connected > 0 && is_of_a_connection(code)) {
        reply.fault = Reply::Fault::lost;
        reply.why = fmt::format("the connection broke ({})", curl_easy_strerror(code));
    }
    return reply;
}

}  // namespace postroom::sink_http
