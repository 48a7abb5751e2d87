// From a row that a database client writes to a queue that another AMQP client reads, as a user
// tries it first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "program/e2e_peers.hpp"
#include "program/program.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::e2e_rabbitmq_test {
namespace {

using namespace std::chrono_literals;
using testing::UnorderedElementsAre;

constexpr std::chrono::seconds patience = 90s;

// The relay between a database and a queue, and somebody else's client that reads the queue.
class Relay {
public:
    explicit Relay(const std::string& database_url) {
        folder_.set("POSTROOM_URL", database_url);
        folder_.set("RABBIT_URL", queue_.url());
        folder_.write("postroom.toml", fmt::format(R"([sinks.orders]
type = "rabbitmq"
url = "${{env:RABBIT_URL}}"
routing_key = "{}"
)",
                                                   queue_.name()));
        folder_.good({"migrate", "up"});
        relay_.emplace(folder_.start({"relay"}));
        consumer_.emplace(queue_.consume());
    }

    // The last message is sent when nothing before it is left, so that none comes behind it.
    void wait_for_drained() const {
        EXPECT_TRUE(wait_until(
            [&] {
                return folder_.good({"status", "--queue", "outbox", "--json"})
                           .find("\"ready\":0,\"in_progress\":0") != std::string::npos;
            },
            patience, 100ms));
    }

    // That the orders written by the tests have come, each once, and that the relay ends cleanly.
    void expect_orders_until_last() {
        std::vector<std::string> lines;
        while (lines.empty() || lines.back() != "last") {
            const std::optional<std::string> line = consumer_->read_line(patience);
            if (!line) break;
            lines.push_back(*line);
        }
        EXPECT_THAT(lines,
                    UnorderedElementsAre("{\"order\":1}", "{\"order\":3}",
                                         "{\"order\":1,\"paid\":true}", "{\"order\":4}", "last"));
        relay_->kill(SIGTERM);
        const std::optional<ExitStatus> status = relay_->wait(patience);
        ASSERT_TRUE(status);
        EXPECT_TRUE(status->success());
    }

private:
    const RabbitQueue queue_;
    ProgramFolder folder_;
    std::optional<ChildProcess> relay_;
    std::optional<ChildProcess> consumer_;
};

TEST(E2eRabbitmq, RowsWrittenWithPsqlReachAnotherClient) {
    const PostgresDatabase database;
    Relay relay(database.url());
    const auto psql = [&](const std::string& sql) {
        good_tool("/usr/bin/psql",
                  {"--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname=" + database.url()},
                  sql);
    };
    psql(R"(
CREATE TABLE orders (id int PRIMARY KEY);
BEGIN;
INSERT INTO orders VALUES (1);
SELECT infra.outbox_enqueue('order.placed', E'{"order":1}\n');
COMMIT;
BEGIN;
INSERT INTO orders VALUES (2);
SELECT infra.outbox_enqueue('order.placed', E'{"order":2}\n');
ROLLBACK;
SELECT infra.outbox_enqueue('order.placed', E'{"order":3}\n', idempotency_key => 'order-3');
SELECT infra.outbox_enqueue('order.placed', E'{"order":3}\n', idempotency_key => 'order-3');
SELECT infra.outbox_enqueue('order.paid', E'{"order":1,"paid":true}\n', ordering_key => 'order-1',
                            headers => '{"traceparent": "00-1"}');
INSERT INTO infra.outbox_live (topic, payload) VALUES ('order.placed', E'{"order":4}\n');
)");
    relay.wait_for_drained();
    psql("SELECT infra.outbox_enqueue('order.placed', E'last\\n');");
    relay.expect_orders_until_last();
}

TEST(E2eRabbitmq, RowsWrittenWithTheMariadbClientReachAnotherClient) {
    const MariadbDatabase database;
    Relay relay(database.url());
    const std::map<std::string, std::string> server = server_values(servers_directory(), "mariadb");
    const auto mariadb = [&](const std::string& sql) {
        good_tool(
            "/usr/bin/mariadb",
            {"--no-defaults", "--host=" + server.at("host"), "--port=" + server.at("port"),
             "--user=" + server.at("user"), "--password=" + server.at("password"), database.name()},
            sql);
    };
    mariadb(R"(
CREATE TABLE orders (id int PRIMARY KEY);
START TRANSACTION;
INSERT INTO orders VALUES (1);
CALL outbox_enqueue('order.placed', '{"order":1}\n', NULL, NULL, NULL, NULL, NULL, NULL);
COMMIT;
START TRANSACTION;
INSERT INTO orders VALUES (2);
CALL outbox_enqueue('order.placed', '{"order":2}\n', NULL, NULL, NULL, NULL, NULL, NULL);
ROLLBACK;
CALL outbox_enqueue('order.placed', '{"order":3}\n', NULL, NULL, NULL, 'order-3', NULL, NULL);
CALL outbox_enqueue('order.placed', '{"order":3}\n', NULL, NULL, NULL, 'order-3', NULL, NULL);
CALL outbox_enqueue_with('order.paid', '{"order":1,"paid":true}\n',
                         '{"ordering_key": "order-1", "headers": {"traceparent": "00-1"}}');
INSERT INTO outbox_live (topic, payload) VALUES ('order.placed', '{"order":4}\n');
)");
    relay.wait_for_drained();
    mariadb("CALL outbox_enqueue('order.placed', 'last\\n', NULL, NULL, NULL, NULL, NULL, NULL);");
    relay.expect_orders_until_last();
}

}  // namespace
}  // namespace postroom::test::e2e_rabbitmq_test
