#include <gmock/gmock.h>

#include <exception>
#include <optional>

#include <unistd.h>

#include "sinks/outage.hpp"
#include "sinks/rabbitmq/rabbit_client.hpp"
#include "support/server_script.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {
namespace {

constexpr const char* queue = "orders";

// A server for one test, which kills it.
class PrivateRabbit {
public:
    PrivateRabbit() { run("start", {std::to_string(::getpid())}); }
    ~PrivateRabbit() {
        try {
            run("stop");
        } catch (const std::exception& error) {
            ADD_FAILURE() << error.what();
        }
    }
    PrivateRabbit(const PrivateRabbit&) = delete;
    PrivateRabbit& operator=(const PrivateRabbit&) = delete;

    void run(const std::string& action, const std::vector<std::string>& further = {}) {
        std::vector<std::string> arguments{action, path().string()};
        arguments.insert(arguments.end(), further.begin(), further.end());
        run_server_script("rabbitmq.sh", arguments);
    }
    RabbitServer server() const { return RabbitServer(path()); }

private:
    std::filesystem::path path() const { return folder_ / "rabbitmq"; }
    TempDir folder_;
};

// Goal: an outage of the server loses nothing that it confirmed and costs no message an attempt.
// Method: SIGKILL of the server under load, and a start on the same data and port.
TEST(RabbitSinkOutage, NothingIsLostAndNoAttemptIsSpent) {
    PrivateRabbit rabbit;
    std::optional<RabbitClient> client(rabbit.server());
    client->declare_queue(queue);
    std::size_t last_length = 0;
    const auto length = [&] {
        if (client) last_length = client->queue_length(queue);
        return last_length;
    };
    const auto drain = [&] {
        std::vector<Received> all;
        while (const std::optional<RabbitMessage> message = client->get(queue)) {
            const auto key = message->headers.find("ordering_key");
            all.push_back({.message_id = message->message_id,
                           .key = key == message->headers.end() ? "" : key->second,
                           .payload = message->body});
        }
        return all;
    };
    std::unique_ptr<Sink> sink =
        make_sink({.name = "rabbit",
                   .type = "rabbitmq",
                   .settings = {{"url", rabbit.server().url()}, {"routing_key", queue}}});
    expect_outage_is_survived(std::move(sink), {.kill =
                                                    [&] {
                                                        client.reset();
                                                        rabbit.run("crash");
                                                    },
                                                .restart =
                                                    [&] {
                                                        rabbit.run("resume");
                                                        client.emplace(rabbit.server());
                                                    },
                                                .received_count = length,
                                                .received = drain});
}

}  // namespace
}  // namespace postroom::test
