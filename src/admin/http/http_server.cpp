#include "admin/http/http_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <thread>
#include <type_traits>

#include "admin/http/admin_log.hpp"
#include "admin/http/connections.hpp"
#include "postroom/error.hpp"

namespace postroom::admin {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t asking_threads = 2;
constexpr std::chrono::seconds tick_interval{2};
constexpr std::chrono::seconds heartbeat{15};
constexpr std::chrono::milliseconds accept_rest{100};
constexpr std::chrono::milliseconds cancel_rest{50};
constexpr std::size_t read_chunk = 4096;
constexpr std::size_t drained_max = std::size_t{16} * 1024 * 1024;  // of a request that was refused
constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

// What every answer carries. The pages load nothing from elsewhere and are framed by nobody.
constexpr std::pair<std::string_view, std::string_view> safety_headers[] = {
    {"Content-Security-Policy",
     "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
     "form-action 'self'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

using Reply = http::response<http::string_body>;

// What stands unnamed among the arguments of what is awaited here: see serve().
static_assert(std::is_trivially_destructible_v<decltype(asio::redirect_error(
                  asio::use_awaitable, std::declval<error_code&>()))> &&
              std::is_trivially_destructible_v<asio::mutable_buffer> &&
              std::is_trivially_destructible_v<std::string_view>);

Reply reply_of(const Response& response, bool keep_alive) {
    Reply reply{static_cast<http::status>(response.status), 11};
    reply.keep_alive(keep_alive);
    for (const auto& [name, value] : safety_headers)
        reply.set(boost::beast::string_view(name.data(), name.size()),
                  boost::beast::string_view(value.data(), value.size()));
    reply.set(http::field::cache_control, "no-store");
    reply.set(http::field::content_type, response.content_type);
    for (const auto& [name, value] : response.headers) reply.set(name, value);
    reply.body() = response.body;
    reply.prepare_payload();
    return reply;
}

template <class Fields>
RequestHead head_of(const Fields& message, const std::string& address) {
    RequestHead head{.method = std::string(message.method_string()),
                     .target = std::string(message.target()),
                     .address = address};
    for (const auto& field : message) {
        std::string name(field.name_string());
        for (char& c : name)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        head.headers.emplace_back(std::move(name), std::string(field.value()));
    }
    return head;
}

// What is said to a request that cannot be read; nullopt: the client has gone.
std::optional<Problem> problem_of(const error_code& error, bool timed_out) {
    if (timed_out) return Problem(408, "too-slow", "The request took too long to arrive.");
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
        return Problem(431, "headers-too-large", "The headers are too large.");
    if (error == http::error::body_limit)
        return Problem::too_large("the body is larger than this server takes");
    if (error == http::error::end_of_stream || error == http::error::partial_message ||
        error.category() != http::make_error_code(http::error::end_of_stream).category())
        return std::nullopt;
    return Problem(400, "malformed", "This is not a request of HTTP/1.1.");
}

}  // namespace

class HttpServer::Network {
public:
    Network(const AdminOptions& options, const Router& router, LiveEvents& live,
            std::function<void()> tick)
        : options_(options), router_(router), live_(live), tick_(std::move(tick)) {}

    ~Network() { stop(); }

    void start() {
        const ListenAddress address = parse_listen(options_.listen);
        error_code failed;
        const tcp::endpoint endpoint(asio::ip::make_address(address.host, failed), address.port);
        if (!failed) acceptor_.open(endpoint.protocol(), failed);
        if (!failed) acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
        if (!failed) acceptor_.bind(endpoint, failed);
        if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
        if (failed)
            throw Error(ErrorKind::unavailable,
                        fmt::format("cannot listen on {}: {}", options_.listen, failed.message()));
        port_ = acceptor_.local_endpoint().port();
        live_.on_publish([this] { asio::post(io_, [this] { wake_streams(); }); });
        asio::co_spawn(io_, accept(), asio::detached);
        asio::co_spawn(io_, ticks(), asio::detached);
        thread_ = std::jthread([this] { run(); });
    }

    void request_stop() {
        io_.stop();
        if (thread_.joinable()) thread_.join();
        // Whoever takes over listens at the same address, before this one is destroyed.
        error_code ignored;
        acceptor_.close(ignored);
        connections_.close_all();
        asking_.stop();
        rendering_.stop();
    }

    void stop() {
        request_stop();
        asking_.join();
        rendering_.join();
    }

    std::uint16_t port() const { return port_; }

private:
    struct Session;
    using SessionPtr = std::shared_ptr<Session>;
    using Nothing = asio::awaitable<void>;
    using Streams = std::map<asio::steady_timer*, std::string>;  // what wakes it, and whose it is

    // All of a session happens on the one thread, but for the answers that ask a database.
    struct Session {
        explicit Session(Network& owner, tcp::socket accepted)
            : socket(std::move(accepted)), deadline(owner.io_), place(owner.connections_, [this] {
                  error_code ignored;
                  socket.close(ignored);
              }) {}

        tcp::socket socket;
        asio::steady_timer deadline;
        Connections::Place place;
        boost::beast::flat_buffer buffer{};
        std::string address{};
        bool timed_out = false;
    };

    // What one client or one moment brought about ends with it, not with the process.
    void run() {
        while (!io_.stopped()) {
            try {
                io_.run();
            } catch (const std::exception& error) {
                log_failure(options_, "ADMIN_FAILED", error);
            }
        }
    }

    // Ends what the session is waiting for when the time is over.
    static void allow(const SessionPtr& session, Duration time) {
        session->timed_out = false;
        session->deadline.expires_after(time);
        cancel_at_deadline(session);
    }

    // Again and again until it is heard: between two steps there is nothing to cancel, and the next
    // one would wait for ever.
    static void cancel_at_deadline(const SessionPtr& session) {
        session->deadline.async_wait([weak = std::weak_ptr(session)](const error_code& failed) {
            const SessionPtr alive = weak.lock();
            if (failed || !alive || alive->deadline.expiry() > std::chrono::steady_clock::now())
                return;
            alive->timed_out = true;
            error_code ignored;
            alive->socket.cancel(ignored);
            alive->deadline.expires_after(cancel_rest);
            cancel_at_deadline(alive);
        });
    }

    void welcome(tcp::socket socket) {
        const std::size_t most = options_.limits.connections_max;
        if (connections_.count() >= most && !connections_.evict_one()) return;  // all are busy
        try {
            asio::co_spawn(io_, serve(std::make_shared<Session>(*this, std::move(socket))),
                           asio::detached);
        } catch (const std::exception& error) {
            log_failure(options_, "ADMIN_FAILED", error);
        }
    }

    Nothing accept() {
        while (true) {
            error_code failed;
            tcp::socket socket =
                co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, failed));
            if (!failed) {
                welcome(std::move(socket));
                continue;
            }
            // No file descriptor is free, or the client has gone again.
            asio::steady_timer rest(io_, accept_rest);
            co_await rest.async_wait(asio::redirect_error(asio::use_awaitable, failed));
        }
    }

    // Owns the session; what it calls borrows it. Arguments of a call that is awaited are named
    // unless their destruction does nothing: g++ 12 is suspected of destroying temporaries among
    // them twice: a crash went away with them.
    Nothing serve(SessionPtr session) {
        error_code failed;
        session->address = session->socket.remote_endpoint(failed).address().to_string();
        session->socket.set_option(tcp::no_delay(true), failed);
        bool more = true;
        while (more && !session->place.evicted()) {
            session->place.start_waiting();
            if (session->buffer.size() == 0) {
                const bool arrived = co_await arrives(session);
                if (!arrived) co_return;
            }
            more = co_await exchange(session);
        }
    }

    // Whether the first bytes of a request came before the session was idle for too long.
    asio::awaitable<bool> arrives(const SessionPtr& session) {
        error_code failed;
        allow(session, options_.limits.idle_timeout);
        const std::size_t count = co_await session->socket.async_read_some(
            session->buffer.prepare(read_chunk), asio::redirect_error(asio::use_awaitable, failed));
        session->buffer.commit(count);
        co_return !failed;
    }

    using Parser = http::request_parser<http::string_body>;

    // Reads the head of a request. Beast would go on reading as long as fields come, each of which
    // leaves its buffer: its limit holds for what is in there, not for what they add up to.
    Nothing read_head(const SessionPtr& session, Parser& parser, error_code& failed) {
        const std::size_t bytes_max = options_.limits.header_bytes_max;
        parser.header_limit(options_.limits.header_bytes_max);
        parser.body_limit(options_.limits.body_bytes_max);
        std::size_t taken = 0;
        while (true) {
            taken += put(session->buffer, parser, failed);
            if (!failed && (taken > bytes_max || count_of(parser) > options_.limits.headers_max))
                failed = http::error::header_limit;
            if (failed || parser.is_header_done()) co_return;
            const std::size_t count = co_await session->socket.async_read_some(
                session->buffer.prepare(read_chunk),
                asio::redirect_error(asio::use_awaitable, failed));
            session->buffer.commit(count);
            if (failed) co_return;
        }
    }

    // Gives the parser what is in the buffer; what it cannot use yet stays there.
    static std::size_t put(boost::beast::flat_buffer& buffer, Parser& parser, error_code& failed) {
        if (buffer.size() == 0) return 0;
        const std::size_t taken = parser.put(buffer.data(), failed);
        buffer.consume(taken);
        if (failed == http::error::need_more) failed = {};
        return taken;
    }

    static std::size_t count_of(const Parser& parser) {
        return static_cast<std::size_t>(std::ranges::distance(parser.get()));
    }

    // One request and its answer. Returns whether there may be another.
    asio::awaitable<bool> exchange(const SessionPtr& session) {
        Parser parser;
        error_code failed;
        allow(session, options_.limits.request_timeout);
        co_await read_head(session, parser, failed);
        if (failed) {
            const std::optional<Problem> why = problem_of(failed, session->timed_out);
            co_await refuse(session, why);
            co_return false;
        }
        const RequestHead head = head_of(parser.get(), session->address);
        // With a coding that nobody here reads, who knows where it ends.
        const bool body_follows = !parser.is_done() || head.count("transfer-encoding") > 0;
        std::optional<Problem> problem;
        Admitted admitted;
        try {
            if (head.count("transfer-encoding") > 0)
                throw Problem(501, "no-chunks", "Bodies come with a Content-Length here.");
            // Nobody would look at it, and many of them fill the memory.
            if (body_follows && parser.get().method() != http::verb::post)
                throw Problem(400, "unwanted-body", "Only a POST has a body here.");
            admitted = router_.admit(head);
        } catch (const Problem& refused) {
            problem = refused;
        }
        // What is left of a body that nobody wants could be taken for the next request.
        if (problem && body_follows) {
            co_await refuse(session, problem);
            co_return false;
        }
        bool more = parser.keep_alive();
        if (problem) {
            const Response refusal = problem->response();
            more = co_await write(session, head, refusal, more);
            co_return more;
        }
        if (body_follows) {
            if (head.count("expect") > 0) co_await send(session, go_on);
            allow(session, options_.limits.request_timeout);
            co_await http::async_read(session->socket, session->buffer, parser,
                                      asio::redirect_error(asio::use_awaitable, failed));
            if (failed) {
                const std::optional<Problem> why = problem_of(failed, session->timed_out);
                co_await refuse(session, why);
                co_return false;
            }
        }
        session->place.stop_waiting();
        admitted.request.body = std::move(parser.get().body());
        if (admitted.route != nullptr && admitted.route->kind == Route::Kind::stream) {
            co_await stream(session, head, admitted);
            co_return false;
        }
        Response response;
        co_await answer(session, admitted, response);
        more = co_await write(session, head, response, more);
        co_return more;
    }

    // Awaited, it goes on in a thread of `threads`.
    template <class Threads>
    static Nothing move_to(Threads& threads) {
        return asio::post(asio::bind_executor(threads, asio::use_awaitable));
    }

    Nothing answer(const SessionPtr& session, const Admitted& admitted, Response& response) {
        session->deadline.cancel();
        if (admitted.route == nullptr || admitted.route->kind == Route::Kind::quick) {
            response = router_.answer(admitted);
            co_return;
        }
        const bool asks = admitted.route->kind == Route::Kind::asking;
        co_await move_to(asks ? asking_ : rendering_);
        response = router_.answer(admitted);
        co_await move_to(io_);
    }

    asio::awaitable<bool> send(const SessionPtr& session, std::string_view text) {
        error_code failed;
        allow(session, options_.limits.write_timeout);
        co_await asio::async_write(session->socket, asio::buffer(text.data(), text.size()),
                                   asio::redirect_error(asio::use_awaitable, failed));
        session->deadline.cancel();
        co_return !failed;
    }

    asio::awaitable<bool> write(const SessionPtr& session, const RequestHead& head,
                                const Response& response, bool keep_alive) {
        Reply reply = reply_of(response, keep_alive);
        error_code failed;
        allow(session, options_.limits.write_timeout);
        if (head.method == "HEAD") {
            http::response<http::empty_body> empty{reply.base()};
            co_await http::async_write(session->socket, empty,
                                       asio::redirect_error(asio::use_awaitable, failed));
        } else {
            co_await http::async_write(session->socket, reply,
                                       asio::redirect_error(asio::use_awaitable, failed));
        }
        co_return !failed && keep_alive;
    }

    // Says why, and ends the connection. What the client still sends is taken for a moment: closing
    // over it would take the answer away from the client again.
    Nothing refuse(const SessionPtr& session, const std::optional<Problem>& problem) {
        if (!problem || !session->socket.is_open()) co_return;
        const RequestHead unread;
        const Response refusal = problem->response();
        co_await write(session, unread, refusal, false);
        error_code failed;
        session->socket.shutdown(tcp::socket::shutdown_send, failed);
        allow(session, linger);
        std::array<char, read_chunk> rest{};
        for (std::size_t taken = 0; !failed && taken < drained_max;) {
            const std::size_t more = co_await session->socket.async_read_some(
                asio::buffer(rest), asio::redirect_error(asio::use_awaitable, failed));
            taken += more;
        }
    }

    // The answer to a request for the stream that gets none; nullopt: it gets one.
    std::optional<Response> instead_of_stream(const RequestHead& head,
                                              const std::string& caller) const {
        if (head.method == "HEAD") return Response{.content_type = "text/event-stream"};
        if (streams_.size() >= options_.limits.streams_max)
            return Problem::unavailable("too many listen already").response();
        const auto own = std::count_if(streams_.begin(), streams_.end(),
                                       [&](const auto& stream) { return stream.second == caller; });
        if (static_cast<std::size_t>(own) >= options_.limits.streams_per_caller_max)
            return Problem::too_many("this caller listens too often already", stream_retry_seconds)
                .response();
        return std::nullopt;
    }

    Nothing stream(const SessionPtr& session, const RequestHead& head, const Admitted& admitted) {
        const std::string caller = admitted.request.caller.key();
        const std::optional<Response> instead = instead_of_stream(head, caller);
        if (instead) {
            co_await write(session, head, *instead, false);
            co_return;
        }
        asio::steady_timer wake(io_);
        streams_.emplace(&wake, caller);
        struct Leave {
            Streams& streams;
            asio::steady_timer* mine;
            ~Leave() { streams.erase(mine); }
        } const leave{streams_, &wake};

        LiveEvents::Batch batch = live_.begin(admitted.last_event_id);
        const std::string first = stream_head() + batch.text;
        bool sent = co_await send(session, first);
        if (sent) co_await tick();
        while (sent) {
            const std::uint64_t position = batch.position;
            batch = live_.after(position);
            if (batch.text.empty()) {
                error_code woken;
                wake.expires_after(heartbeat);
                co_await wake.async_wait(asio::redirect_error(asio::use_awaitable, woken));
                batch = live_.after(position);
                if (batch.text.empty() && !woken) batch.text = ": still here\n\n";
            }
            if (!batch.text.empty()) sent = co_await send(session, batch.text);
        }
    }

    static std::string stream_head() {
        std::string head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n";
        for (const auto& [name, value] : safety_headers)
            head += fmt::format("{}: {}\r\n", name, value);
        return head + "\r\n";
    }

    void wake_streams() {
        for (const auto& [wake, caller] : streams_) wake->cancel();
    }

    // The figures of a thousand stores are a long text: made where nobody else waits.
    Nothing tick() {
        co_await move_to(rendering_);
        try {
            tick_();
        } catch (const std::exception& error) {
            log_failure(options_, "ADMIN_FAILED", error);
        }
        co_await move_to(io_);
    }

    Nothing ticks() {
        asio::steady_timer timer(io_);
        while (true) {
            error_code failed;
            timer.expires_after(tick_interval);
            co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, failed));
            if (!streams_.empty()) co_await tick();
        }
    }

    static constexpr std::chrono::seconds linger{1};
    static constexpr int stream_retry_seconds = 5;

    const AdminOptions& options_;
    const Router& router_;
    LiveEvents& live_;
    const std::function<void()> tick_;

    // The server's thread's.
    Connections connections_;
    Streams streams_;

    asio::io_context io_{1};
    tcp::acceptor acceptor_{io_};
    std::uint16_t port_ = 0;
    asio::thread_pool asking_{asking_threads};
    asio::thread_pool rendering_{1};
    std::jthread thread_;
};

HttpServer::HttpServer(const AdminOptions& options, const Router& router, LiveEvents& live,
                       std::function<void()> tick)
    : network_(std::make_unique<Network>(options, router, live, std::move(tick))) {}

HttpServer::~HttpServer() = default;

void HttpServer::start() { network_->start(); }
void HttpServer::request_stop() { network_->request_stop(); }
void HttpServer::stop() { network_->stop(); }
std::uint16_t HttpServer::port() const { return network_->port(); }

}  // namespace postroom::admin
