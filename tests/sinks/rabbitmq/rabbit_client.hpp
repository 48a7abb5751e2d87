// RabbitClient: a test's own connection to a RabbitMQ server, independent of the sink.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <amqp.h>

namespace postroom::test {

// Where a server of rabbitmq.sh listens.
struct RabbitServer {
    std::string host{};
    int port = 0;
    std::string user{};
    std::string password{};

    // From `directory`/rabbitmq.env. Throws std::runtime_error when it is not there.
    explicit RabbitServer(const std::filesystem::path& directory);
    // That of the test run.
    static RabbitServer shared();
    std::string url() const;
};

struct RabbitMessage {
    std::string body{};
    std::string message_id{};
    std::string type{};
    std::string content_type{};
    std::string correlation_id{};
    int delivery_mode = 0;
    std::map<std::string, std::string> headers{};
};

// Every call throws std::runtime_error when the server does not do it.
class RabbitClient {
public:
    explicit RabbitClient(const RabbitServer& server);

    // Durable queues. A limit of 0 is none; beyond it messages are refused.
    void declare_queue(const std::string& name, int length_max = 0);
    void delete_queue(const std::string& name);
    void declare_exchange(const std::string& name);
    void delete_exchange(const std::string& name);
    void bind(const std::string& queue, const std::string& exchange, const std::string& key);
    std::size_t queue_length(const std::string& name);
    std::optional<RabbitMessage> get(const std::string& queue);

private:
    std::unique_ptr<amqp_connection_state_t_, int (*)(amqp_connection_state_t)> connection_;
};

// Unique in the test run.
std::string unique_rabbit_name();

}  // namespace postroom::test
