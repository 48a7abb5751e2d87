#include "sinks/rabbitmq/rabbit_client.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>

#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <fmt/format.h>
#include <unistd.h>

#include "support/test_servers.hpp"

namespace postroom::test {

namespace {

constexpr amqp_channel_t channel = 1;

std::string text_of(amqp_bytes_t bytes) {
    return {static_cast<const char*>(bytes.bytes), bytes.len};
}

amqp_bytes_t bytes_of(const std::string& text) { return amqp_cstring_bytes(text.c_str()); }

void require(const amqp_rpc_reply_t& reply, const std::string& what) {
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        throw std::runtime_error("RabbitMQ refused: " + what);
}

RabbitMessage to_message(const amqp_message_t& raw) {
    RabbitMessage message{.body = text_of(raw.body),
                          .message_id = text_of(raw.properties.message_id),
                          .type = text_of(raw.properties.type),
                          .content_type = text_of(raw.properties.content_type),
                          .correlation_id = text_of(raw.properties.correlation_id),
                          .delivery_mode = raw.properties.delivery_mode};
    for (int i = 0; i < raw.properties.headers.num_entries; ++i) {
        const amqp_table_entry_t& entry = raw.properties.headers.entries[i];
        message.headers[text_of(entry.key)] = text_of(entry.value.value.bytes);
    }
    return message;
}

}  // namespace

RabbitServer::RabbitServer(const std::filesystem::path& directory) {
    std::map<std::string, std::string> values;
    std::ifstream file(directory / "rabbitmq.env");
    for (std::string line; std::getline(file, line);)
        values[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
    if (!values.contains("port"))
        throw std::runtime_error("no server: run tests/servers/rabbitmq.sh start " +
                                 directory.string());
    host = values["host"];
    port = std::stoi(values["port"]);
    user = values["user"];
    password = values["password"];
}

RabbitServer RabbitServer::shared() { return RabbitServer(servers_directory() / "rabbitmq"); }

std::string RabbitServer::url() const {
    return fmt::format("amqp://{}:{}@{}:{}", user, password, host, port);
}

RabbitClient::RabbitClient(const RabbitServer& server)
    : connection_(amqp_new_connection(), &amqp_destroy_connection) {
    amqp_connection_state_t const connection = connection_.get();
    amqp_socket_t* const socket = amqp_tcp_socket_new(connection);
    if (amqp_socket_open(socket, server.host.c_str(), server.port) != AMQP_STATUS_OK)
        throw std::runtime_error("cannot connect to RabbitMQ");
    require(amqp_login(connection, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN,
                       server.user.c_str(), server.password.c_str()),
            "login");
    amqp_channel_open(connection, channel);
    require(amqp_get_rpc_reply(connection), "channel");
}

void RabbitClient::declare_queue(const std::string& name, int length_max) {
    std::array<amqp_table_entry_t, 2> entries{};
    entries[0].key = amqp_cstring_bytes("x-max-length");
    entries[0].value.kind = AMQP_FIELD_KIND_I32;
    entries[0].value.value.i32 = length_max;
    entries[1].key = amqp_cstring_bytes("x-overflow");
    entries[1].value.kind = AMQP_FIELD_KIND_UTF8;
    entries[1].value.value.bytes = amqp_cstring_bytes("reject-publish");
    const amqp_table_t arguments{.num_entries = length_max > 0 ? 2 : 0, .entries = entries.data()};
    amqp_queue_declare(connection_.get(), channel, bytes_of(name), 0, 1, 0, 0, arguments);
    require(amqp_get_rpc_reply(connection_.get()), "queue " + name);
}

void RabbitClient::delete_queue(const std::string& name) {
    amqp_queue_delete(connection_.get(), channel, bytes_of(name), 0, 0);
    require(amqp_get_rpc_reply(connection_.get()), "deletion of " + name);
}

void RabbitClient::declare_exchange(const std::string& name) {
    amqp_exchange_declare(connection_.get(), channel, bytes_of(name), amqp_cstring_bytes("topic"),
                          0, 1, 0, 0, amqp_empty_table);
    require(amqp_get_rpc_reply(connection_.get()), "exchange " + name);
}

void RabbitClient::delete_exchange(const std::string& name) {
    amqp_exchange_delete(connection_.get(), channel, bytes_of(name), 0);
    require(amqp_get_rpc_reply(connection_.get()), "deletion of " + name);
}

void RabbitClient::bind(const std::string& queue, const std::string& exchange,
                        const std::string& key) {
    amqp_queue_bind(connection_.get(), channel, bytes_of(queue), bytes_of(exchange), bytes_of(key),
                    amqp_empty_table);
    require(amqp_get_rpc_reply(connection_.get()), "binding of " + queue);
}

std::size_t RabbitClient::queue_length(const std::string& name) {
    const amqp_queue_declare_ok_t* const found = amqp_queue_declare(
        connection_.get(), channel, bytes_of(name), 1, 1, 0, 0, amqp_empty_table);
    require(amqp_get_rpc_reply(connection_.get()), "length of " + name);
    const std::size_t length = found->message_count;
    amqp_maybe_release_buffers(connection_.get());
    return length;
}

std::optional<RabbitMessage> RabbitClient::get(const std::string& queue) {
    const amqp_rpc_reply_t reply = amqp_basic_get(connection_.get(), channel, bytes_of(queue), 1);
    require(reply, "get from " + queue);
    if (reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD) return std::nullopt;
    amqp_message_t raw{};
    require(amqp_read_message(connection_.get(), channel, &raw, 0), "message of " + queue);
    RabbitMessage message = to_message(raw);
    amqp_destroy_message(&raw);
    amqp_maybe_release_buffers(connection_.get());
    return message;
}

std::string unique_rabbit_name() {
    static std::atomic<int> count{0};
    return fmt::format("postroom_test_{}_{}_{}", ::getpid(), ++count,
                       std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace postroom::test
