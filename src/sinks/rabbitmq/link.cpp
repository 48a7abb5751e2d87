#include "sinks/rabbitmq/link.hpp"

#include <algorithm>
#include <utility>

#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "queue/handler_run.hpp"
#include "sinks/rabbitmq/envelope.hpp"

namespace postroom::sink_rabbitmq {

namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr amqp_channel_t channel = 1;
// One that was idle for longer may have been dropped by something on the way, without a word.
constexpr std::chrono::seconds idle_max{30};

timeval to_timeval(Duration duration) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
    return {.tv_sec = seconds.count(), .tv_usec = (duration - seconds).count()};
}

void require(int status, const char* what) {
    if (status != AMQP_STATUS_OK)
        throw LinkLost(fmt::format("{}: {}", what, amqp_error_string2(status)));
}

// The server's words: a code and a text without secrets.
void require(const amqp_rpc_reply_t& reply, const char* what) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION)
        throw LinkLost(fmt::format("{}: {}", what, amqp_error_string2(reply.library_error)));
    if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
        const auto& close = *static_cast<amqp_connection_close_t*>(reply.reply.decoded);
        throw LinkLost(fmt::format("{}: {}", what, text_of(close.reply_text)), close.reply_code);
    }
    if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
        const auto& close = *static_cast<amqp_channel_close_t*>(reply.reply.decoded);
        throw LinkLost(fmt::format("{}: {}", what, text_of(close.reply_text)), close.reply_code);
    }
    throw LinkLost(fmt::format("{}: refused by the server", what));
}

Verdict released(const char* why) {
    return {.outcome = Outcome::release, .error = why, .delay = blameless_pause};
}

}  // namespace

// What is known of a wave. A message is open from its publication until its confirmation.
struct Link::Batch {
    explicit Batch(Wave messages) : wave(messages), verdicts(messages.size()) {}

    // The confirmation of `tag`, and with `multiple` of all before it.
    void confirm(std::uint64_t tag, bool multiple, const Verdict& verdict) {
        auto at = multiple ? open.begin() : open.find(tag);
        while (at != open.end() && at->first <= tag) {
            std::optional<Verdict>& slot = verdicts[at->second];
            // A message that came back is confirmed too: the server has dealt with it.
            if (!slot) slot = verdict;
            at = open.erase(at);
        }
    }

    const Wave wave;
    std::vector<std::optional<Verdict>> verdicts;
    std::map<std::uint64_t, std::size_t> open{};  // delivery tag -> position
};

std::vector<Verdict> Link::send(Wave wave, const std::stop_token& stop) {
    Batch batch(wave);
    try {
        if (!is_alive()) connect();
        // A server that has blocked us stops reading, and publishing waits for it: this ends it.
        const int descriptor = amqp_get_sockfd(connection_.get());
        const std::stop_callback hang_up(stop, [descriptor] { ::shutdown(descriptor, SHUT_RDWR); });
        publish(batch);
        await_confirms(batch);
        last_used_ = SteadyClock::now();
    } catch (const LinkLost& lost) {
        connection_.reset();
        settle_lost(batch, lost, stop);
    }
    std::vector<Verdict> verdicts;
    for (std::optional<Verdict>& verdict : batch.verdicts) verdicts.push_back(*std::move(verdict));
    return verdicts;
}

bool Link::is_alive() {
    if (connection_ == nullptr || SteadyClock::now() - last_used_ > idle_max) return false;
    // Between batches the server has nothing to say, unless it closes.
    amqp_frame_t frame{};
    timeval now{};
    return amqp_simple_wait_frame_noblock(connection_.get(), &frame, &now) == AMQP_STATUS_TIMEOUT;
}

void Link::connect() {
    connection_.reset();
    Connection connection(amqp_new_connection(), &amqp_destroy_connection);
    if (connection == nullptr) throw std::bad_alloc();
    const timeval timeout = to_timeval(options_.connect_timeout);
    amqp_set_handshake_timeout(connection.get(), &timeout);
    amqp_set_rpc_timeout(connection.get(), &timeout);
    open_socket(connection);
    require(amqp_login(connection.get(), options_.vhost.c_str(), 1, AMQP_DEFAULT_FRAME_SIZE, 0,
                       AMQP_SASL_METHOD_PLAIN, options_.user.c_str(), options_.password.c_str()),
            "login");
    amqp_channel_open(connection.get(), channel);
    require(amqp_get_rpc_reply(connection.get()), "opening a channel");
    amqp_confirm_select(connection.get(), channel);
    require(amqp_get_rpc_reply(connection.get()), "turning confirmations on");
    connection_ = std::move(connection);
    last_tag_ = 0;
}

void Link::open_socket(const Connection& connection) const {
    amqp_socket_t* socket = nullptr;
    if (options_.tls) {
        socket = amqp_ssl_socket_new(connection.get());
        if (socket == nullptr) throw std::bad_alloc();
        amqp_ssl_socket_set_verify_peer(socket, 1);
        amqp_ssl_socket_set_verify_hostname(socket, 1);
        require(amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST), "TLS");
        require(amqp_ssl_socket_set_cacert(socket, options_.ca_file.c_str()), "ca_file");
    } else {
        socket = amqp_tcp_socket_new(connection.get());
        if (socket == nullptr) throw std::bad_alloc();
    }
    const timeval timeout = to_timeval(options_.connect_timeout);
    require(amqp_socket_open_noblock(socket, options_.host.c_str(), options_.port, &timeout),
            "connecting");
    const auto patience =
        static_cast<unsigned>(std::chrono::ceil<milliseconds>(options_.confirm_timeout).count());
    ::setsockopt(amqp_get_sockfd(connection.get()), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience,
                 sizeof patience);
}

void Link::publish(Batch& batch) {
    for (std::size_t i = 0; i < batch.wave.size(); ++i) {
        if (batch.verdicts[i]) continue;
        try {
            const Envelope envelope(*batch.wave[i], options_);
            batch.open.emplace(++last_tag_, i);
            require(amqp_basic_publish(connection_.get(), channel, bytes_of(options_.exchange),
                                       envelope.routing_key(), 1, 0, &envelope.properties(),
                                       envelope.body()),
                    "publishing");
        } catch (const PermanentFailure& failure) {
            batch.verdicts[i] = Verdict::fail(failure.what());
        }
    }
}

void Link::await_confirms(Batch& batch) {
    const SteadyClock::time_point deadline = SteadyClock::now() + options_.confirm_timeout;
    while (!batch.open.empty()) {
        const auto left = std::chrono::ceil<Duration>(
            std::max(deadline - SteadyClock::now(), SteadyClock::duration{}));
        const timeval timeout = to_timeval(left);
        amqp_frame_t frame{};
        const int status = amqp_simple_wait_frame_noblock(connection_.get(), &frame, &timeout);
        if (status == AMQP_STATUS_TIMEOUT) throw LinkLost("no confirmation in time");
        require(status, "waiting for confirmations");
        take(frame, batch);
        amqp_maybe_release_buffers(connection_.get());
    }
}

void Link::take(const amqp_frame_t& frame, Batch& batch) {
    if (frame.frame_type != AMQP_FRAME_METHOD) return;
    const amqp_method_t& method = frame.payload.method;
    switch (method.id) {
        case AMQP_BASIC_ACK_METHOD: {
            const auto& ack = *static_cast<amqp_basic_ack_t*>(method.decoded);
            batch.confirm(ack.delivery_tag, ack.multiple != 0, Verdict::done());
            break;
        }
        case AMQP_BASIC_NACK_METHOD: {
            // A queue that is full or a server in trouble; no fault of the message.
            const auto& nack = *static_cast<amqp_basic_nack_t*>(method.decoded);
            batch.confirm(nack.delivery_tag, nack.multiple != 0,
                          Verdict::down(options_.origin() + " did not take the message (nack)"));
            break;
        }
        case AMQP_BASIC_RETURN_METHOD:
            take_return(batch);
            break;
        case AMQP_CHANNEL_CLOSE_METHOD:
        case AMQP_CONNECTION_CLOSE_METHOD:
            throw_closed(method);
        default:
            break;
    }
}

// The message comes back whole; its id tells which it is. The confirmation follows.
void Link::take_return(Batch& batch) {
    amqp_message_t returned{};
    require(amqp_read_message(connection_.get(), channel, &returned, 0), "reading a return");
    const std::string id(text_of(returned.properties.message_id));
    amqp_destroy_message(&returned);
    const std::string why = fmt::format("{}: no queue takes the message (exchange '{}')",
                                        options_.origin(), options_.exchange);
    for (const auto& [tag, position] : batch.open) {
        std::optional<Verdict>& slot = batch.verdicts[position];
        if (slot || batch.wave[position]->message_id.str() != id) continue;
        slot = options_.unroutable_dies ? Verdict::fail(why) : Verdict::retry(why);
        return;
    }
}

void Link::throw_closed(const amqp_method_t& method) const {
    if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
        const auto& close = *static_cast<amqp_channel_close_t*>(method.decoded);
        throw LinkLost(std::string(text_of(close.reply_text)), close.reply_code);
    }
    const auto& close = *static_cast<amqp_connection_close_t*>(method.decoded);
    throw LinkLost(std::string(text_of(close.reply_text)), close.reply_code);
}

// Those without a verdict are in doubt: they may have been taken.
void Link::settle_lost(Batch& batch, const LinkLost& lost, const std::stop_token& stop) {
    const auto is_open = [](const std::optional<Verdict>& verdict) { return !verdict; };
    const auto left = std::ranges::count_if(batch.verdicts, is_open);
    const std::string why = fmt::format("{}: {}", options_.origin(), lost.what());
    // One of them is what the server objects to, such as its size: each is tried alone.
    const bool at_fault = lost.code() == AMQP_PRECONDITION_FAILED;
    for (std::size_t i = 0; i < batch.verdicts.size(); ++i) {
        if (batch.verdicts[i]) continue;
        if (stop.stop_requested()) {
            batch.verdicts[i] = released("the sink was asked to stop");
        } else if (at_fault && left == 1) {
            batch.verdicts[i] = Verdict::fail(why);
        } else if (at_fault) {
            batch.verdicts[i] = send(batch.wave.subspan(i, 1), stop).front();
        } else {
            batch.verdicts[i] = Verdict::down(why);
        }
    }
}

}  // namespace postroom::sink_rabbitmq
