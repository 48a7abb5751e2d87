// Link: one connection to a RabbitMQ server, with one channel on which every message is confirmed.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <amqp.h>

#include "queue/key_order.hpp"
#include "queue/suspects.hpp"
#include "sinks/rabbitmq/options.hpp"

namespace postroom::sink_rabbitmq {

class Envelope;

// The connection or its channel has ended. `code` is the server's reason, or one of these.
class LinkLost : public std::runtime_error {
public:
    static constexpr int unexplained = 0;  // it broke
    static constexpr int silence = -1;     // no answer came in time
    static constexpr int unsendable = -2;  // the client library cannot write the message

    explicit LinkLost(const std::string& why, int code = unexplained)
        : std::runtime_error(why), code_(code) {}
    int code() const { return code_; }
    // Whether a single message can be what the server objects to, rather than all of them.
    bool may_be_of_one_message() const;
    // For a message that was alone, when it may be of one. `origin` goes into the text.
    Verdict verdict_of_one_message(const std::string& origin) const;

private:
    int code_;
};

// Thread safety: one thread at a time.
class Link {
public:
    // Does not connect yet. `options` and `suspects` must outlive it.
    Link(const RabbitOptions& options, Suspects& suspects)
        : options_(options), suspects_(suspects) {}
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    // Publishes all of `wave`, then waits for the confirmations. Connects when it is not connected.
    std::vector<Verdict> send(Wave wave, const std::stop_token& stop);

    // Connects and signs in. Throws DestinationDown.
    void probe();

private:
    struct Batch;
    using Connection = std::unique_ptr<amqp_connection_state_t_, int (*)(amqp_connection_state_t)>;

    void connect(const std::stop_token& stop);
    void open_socket(const Connection& connection,
                     std::chrono::steady_clock::time_point deadline) const;
    bool is_alive();
    void publish(Batch& batch);
    void await_confirms(Batch& batch);
    void take(const amqp_frame_t& frame, Batch& batch);
    void take_method(const amqp_method_t& method, Batch& batch);
    void take_return(std::string_view message_id, Batch& batch) const;
    void settle_lost(Batch& batch, const LinkLost& lost, const std::stop_token& stop);
    void send_alone(Batch& batch, const std::vector<std::size_t>& left,
                    const std::stop_token& stop);
    void note_answers(const Batch& batch, std::chrono::steady_clock::time_point begun);
    std::vector<std::size_t> suspects_last(const Batch& batch) const;
    void require_fits(const Envelope& envelope) const;
    [[noreturn]] void throw_closed(const amqp_method_t& method) const;

    const RabbitOptions& options_;
    Suspects& suspects_;
    Connection connection_{nullptr, &amqp_destroy_connection};
    std::uint64_t last_tag_ = 0;
    std::chrono::steady_clock::time_point last_used_{};
};

}  // namespace postroom::sink_rabbitmq
