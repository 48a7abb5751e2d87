#include "sinks/rabbitmq/link.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/connect_fault.hpp"
#include "queue/handler_run.hpp"
#include "queue/partial_outage.hpp"
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

// The library says "a socket error occurred"; the system knows which.
std::string text_of_status(int status) {
    const int system_error = errno;
    const bool is_known = status == AMQP_STATUS_SOCKET_ERROR && system_error != 0 &&
                          system_error != EINPROGRESS && system_error != EAGAIN;
    return is_known ? std::generic_category().message(system_error) : amqp_error_string2(status);
}

// Time that ran out, also the system's: a server that reads nothing more (a memory alarm) ends the
// writing to it so.
bool is_silence(int status) {
    return status == AMQP_STATUS_TIMEOUT || status == AMQP_STATUS_HEARTBEAT_TIMEOUT ||
           ((status == AMQP_STATUS_SOCKET_ERROR || status == AMQP_STATUS_SSL_ERROR) &&
            errno == ETIMEDOUT);
}

void require(int status, const char* what) {
    if (status == AMQP_STATUS_OK) return;
    const int code = is_silence(status) ? LinkLost::silence : LinkLost::unexplained;
    throw LinkLost(fmt::format("{}: {}", what, text_of_status(status)), code);
}

// Errors that the library finds in what it is to write, not in where to.
bool is_of_the_message(int status) {
    return status == AMQP_STATUS_TABLE_TOO_BIG || status == AMQP_STATUS_BAD_AMQP_DATA ||
           status == AMQP_STATUS_INVALID_PARAMETER || status == AMQP_STATUS_NO_MEMORY;
}

// The server's words: a code and a text without secrets.
void require(const amqp_rpc_reply_t& reply, const char* what) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION)
        throw LinkLost(fmt::format("{}: {}", what, text_of_status(reply.library_error)));
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

// What is left of a time, for one of the steps that share it.
timeval time_left(SteadyClock::time_point deadline, const char* what) {
    const auto left = std::chrono::ceil<Duration>(deadline - SteadyClock::now());
    if (left <= Duration::zero())
        throw LinkLost(fmt::format("{}: not connected in time", what), LinkLost::silence);
    return to_timeval(left);
}

Verdict released(const char* why) {
    return {.outcome = Outcome::release, .error = why, .delay = blameless_pause};
}

}  // namespace

bool LinkLost::may_be_of_one_message() const {
    switch (code_) {
        case AMQP_PRECONDITION_FAILED:  // its size, or a header that means something to the server
        case AMQP_FRAME_ERROR:
        case AMQP_SYNTAX_ERROR:
        case AMQP_UNEXPECTED_FRAME:
        case unsendable:
            return true;
        case AMQP_ACCESS_REFUSED:
            // Topic permissions are about the routing key; the others are about the exchange.
            return std::string_view(what()).find("access to topic") != std::string_view::npos;
        default:
            return false;
    }
}

Verdict LinkLost::verdict_of_one_message(const std::string& origin) const {
    const std::string why = fmt::format("{}: {}", origin, what());
    // What it is the server refuses. A permission can be given later, and errors in what was said
    // may be those of a proxy, a version or ours: trying again is not useless.
    return code_ == AMQP_PRECONDITION_FAILED ? Verdict::fail(why) : Verdict::retry(why);
}

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
    const std::string& id_of(std::size_t position) const {
        return wave[position]->message_id.str();
    }

    // Whether the connection was ended over what was published, and nobody said why. Silence is
    // never held against a message: its queue may have no majority, or the server no memory.
    bool is_in_doubt(const LinkLost& lost) const {
        return !open.empty() && lost.code() == LinkLost::unexplained;
    }

    std::map<std::uint64_t, std::size_t> open{};  // delivery tag -> position
    bool return_begun = false;  // a message comes back; its properties are in the next frame
};

std::vector<Verdict> Link::send(Wave wave, const std::stop_token& stop) {
    Batch batch(wave);
    const SteadyClock::time_point begun = SteadyClock::now();
    bool fell_silent = false;
    try {
        if (!is_alive()) connect(stop);
        // A server that has blocked us stops reading, and publishing waits for it: this ends it.
        const int descriptor = amqp_get_sockfd(connection_.get());
        const std::stop_callback hang_up(stop, [descriptor] { ::shutdown(descriptor, SHUT_RDWR); });
        publish(batch);
        await_confirms(batch);
        note_answers(batch, begun);
        last_used_ = SteadyClock::now();
    } catch (const LinkLost& lost) {
        connection_.reset();
        fell_silent = lost.code() == LinkLost::silence;
        note_answers(batch, begun);
        settle_lost(batch, lost, stop);
    }
    std::vector<Verdict> verdicts;
    for (std::optional<Verdict>& verdict : batch.verdicts) verdicts.push_back(*std::move(verdict));
    // One queue can be silent while the others are not; a connection that broke says more.
    if (connection_ != nullptr || fell_silent) spare_a_living_destination(verdicts);
    return verdicts;
}

bool Link::is_alive() {
    if (connection_ == nullptr || SteadyClock::now() - last_used_ > idle_max) return false;
    // Between batches the server has nothing to say, unless it closes.
    amqp_frame_t frame{};
    timeval now{};
    return amqp_simple_wait_frame_noblock(connection_.get(), &frame, &now) == AMQP_STATUS_TIMEOUT;
}

void Link::probe() {
    try {
        connect({});
    } catch (const LinkLost& lost) {
        throw DestinationDown(fmt::format("{}: {}", options_.origin(), lost.what()));
    }
}

void Link::connect(const std::stop_token& stop) {
    connection_.reset();
    if (stop.stop_requested()) throw LinkLost("asked to stop");
    const SteadyClock::time_point deadline = SteadyClock::now() + options_.connect_timeout;
    Connection connection(amqp_new_connection(), &amqp_destroy_connection);
    if (connection == nullptr) throw std::bad_alloc();
    open_socket(connection, deadline);
    const int descriptor = amqp_get_sockfd(connection.get());
    const std::stop_callback hang_up(stop, [descriptor] { ::shutdown(descriptor, SHUT_RDWR); });
    timeval timeout = time_left(deadline, "login");
    amqp_set_handshake_timeout(connection.get(), &timeout);
    require(amqp_login(connection.get(), options_.vhost.c_str(), 1, AMQP_DEFAULT_FRAME_SIZE, 0,
                       AMQP_SASL_METHOD_PLAIN, options_.user.c_str(), options_.password.c_str()),
            "login");
    timeout = time_left(deadline, "opening a channel");
    amqp_set_rpc_timeout(connection.get(), &timeout);
    amqp_channel_open(connection.get(), channel);
    require(amqp_get_rpc_reply(connection.get()), "opening a channel");
    timeout = time_left(deadline, "turning confirmations on");
    amqp_set_rpc_timeout(connection.get(), &timeout);
    amqp_confirm_select(connection.get(), channel);
    require(amqp_get_rpc_reply(connection.get()), "turning confirmations on");
    connection_ = std::move(connection);
    last_tag_ = 0;
}

void Link::open_socket(const Connection& connection,
                       std::chrono::steady_clock::time_point deadline) const {
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
    const timeval timeout = time_left(deadline, "connecting");
    const int status =
        amqp_socket_open_noblock(socket, options_.host.c_str(), options_.port, &timeout);
    if (status == AMQP_STATUS_SOCKET_ERROR) {
        const std::string fault = base::connect_fault(options_.host, options_.port);
        if (!fault.empty()) throw LinkLost(fmt::format("connecting: {}", fault));
    }
    require(status, "connecting");
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
            require_fits(envelope);
            batch.open.emplace(++last_tag_, i);
            const int status = amqp_basic_publish(
                connection_.get(), channel, bytes_of(options_.exchange), envelope.routing_key(), 1,
                0, &envelope.properties(), envelope.body());
            if (is_of_the_message(status))
                throw LinkLost(fmt::format("publishing: {}", amqp_error_string2(status)),
                               LinkLost::unsendable);
            require(status, "publishing");
        } catch (const PermanentFailure& failure) {
            batch.verdicts[i] = Verdict::fail(failure.what());
        }
    }
}

// Properties and headers travel in one frame, whose size was agreed upon with the server.
void Link::require_fits(const Envelope& envelope) const {
    constexpr std::size_t frame_overhead = 8;
    const auto most = static_cast<std::size_t>(amqp_get_frame_max(connection_.get()));
    if (most > 0 && envelope.header_bytes() + frame_overhead > most)
        throw PermanentFailure(
            fmt::format("its headers take {} bytes, and the server takes at most {}",
                        envelope.header_bytes(), most - frame_overhead));
}

void Link::await_confirms(Batch& batch) {
    const SteadyClock::time_point deadline = SteadyClock::now() + options_.confirm_timeout;
    while (!batch.open.empty()) {
        const auto left = std::chrono::ceil<Duration>(
            std::max(deadline - SteadyClock::now(), SteadyClock::duration{}));
        const timeval timeout = to_timeval(left);
        amqp_frame_t frame{};
        const int status = amqp_simple_wait_frame_noblock(connection_.get(), &frame, &timeout);
        if (status == AMQP_STATUS_TIMEOUT)
            throw LinkLost("no confirmation in time", LinkLost::silence);
        require(status, "waiting for confirmations");
        take(frame, batch);
        amqp_maybe_release_buffers(connection_.get());
    }
}

void Link::take(const amqp_frame_t& frame, Batch& batch) {
    if (frame.frame_type == AMQP_FRAME_METHOD) {
        take_method(frame.payload.method, batch);
    } else if (frame.frame_type == AMQP_FRAME_HEADER && std::exchange(batch.return_begun, false)) {
        const auto& properties =
            *static_cast<amqp_basic_properties_t*>(frame.payload.properties.decoded);
        take_return(text_of(properties.message_id), batch);
    }
    // The body of a message that comes back is known already.
}

void Link::take_method(const amqp_method_t& method, Batch& batch) {
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
            batch.return_begun = true;
            break;
        case AMQP_CHANNEL_CLOSE_METHOD:
        case AMQP_CONNECTION_CLOSE_METHOD:
            throw_closed(method);
        default:
            break;
    }
}

// The message comes back whole; its id tells which it is. The confirmation follows.
void Link::take_return(std::string_view message_id, Batch& batch) const {
    for (const auto& [tag, position] : batch.open) {
        std::optional<Verdict>& slot = batch.verdicts[position];
        const Message& message = *batch.wave[position];
        if (slot || message.message_id.str() != message_id) continue;
        const std::string why = fmt::format(
            "{}: no queue takes the message (exchange '{}', routing key '{}')", options_.origin(),
            options_.exchange, options_.routing_key.empty() ? message.topic : options_.routing_key);
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

// Those without a verdict may have been taken.
void Link::settle_lost(Batch& batch, const LinkLost& lost, const std::stop_token& stop) {
    const std::vector<std::size_t> left = suspects_last(batch);
    const bool in_doubt = batch.is_in_doubt(lost);
    const bool may_be_one = lost.may_be_of_one_message() || in_doubt;
    if (left.size() > 1 && may_be_one) return send_alone(batch, left, stop);
    const std::string why = fmt::format("{}: {}", options_.origin(), lost.what());
    for (const std::size_t position : left) {
        std::optional<Verdict>& verdict = batch.verdicts[position];
        if (stop.stop_requested()) {
            verdict = released("the sink was asked to stop");
        } else if (lost.may_be_of_one_message()) {
            verdict = lost.verdict_of_one_message(options_.origin());
        } else if (in_doubt && left.size() == 1) {
            verdict =
                verdict_of(suspects_.unanswered(batch.id_of(position), SteadyClock::now()), why);
        } else {
            verdict = Verdict::down(why);
        }
    }
}

// One of them may be what the connection ended over, such as its size: alone it is seen which.
void Link::send_alone(Batch& batch, const std::vector<std::size_t>& left,
                      const std::stop_token& stop) {
    std::optional<Verdict> outage;
    for (const std::size_t position : left) {
        std::optional<Verdict>& verdict = batch.verdicts[position];
        if (stop.stop_requested()) {
            verdict = released("the sink was asked to stop");
        } else if (outage) {
            verdict = outage;  // each would wait for as long
        } else {
            verdict = send(batch.wave.subspan(position, 1), stop).front();
            if (verdict->destination_down) outage = verdict;
        }
    }
}

// The positions without a verdict. Those that the connection broke over before go last, so that the
// others show whose fault that is.
std::vector<std::size_t> Link::suspects_last(const Batch& batch) const {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < batch.verdicts.size(); ++i)
        if (!batch.verdicts[i]) left.push_back(i);
    std::stable_partition(left.begin(), left.end(), [&](std::size_t position) {
        return !suspects_.last_unanswered(batch.id_of(position));
    });
    return left;
}

void Link::note_answers(const Batch& batch, SteadyClock::time_point begun) {
    for (std::size_t i = 0; i < batch.verdicts.size(); ++i) {
        const std::optional<Verdict>& verdict = batch.verdicts[i];
        if (verdict && verdict->outcome == Outcome::ack) suspects_.answered(batch.id_of(i), begun);
    }
}

}  // namespace postroom::sink_rabbitmq
