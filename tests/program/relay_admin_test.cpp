// The admin server of a relay: where it listens, and that its figures are those of the tables.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "program/program_on.hpp"
#include "support/wait_until.hpp"
#include "unit/http_client.hpp"

namespace postroom::test::relay_admin_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::chrono::seconds patience = 90s;

// TCP sockets on which the process waits for callers, by the kernel's tables.
std::size_t listening_sockets(pid_t pid) {
    std::set<std::string> listening;
    std::ifstream table(fmt::format("/proc/{}/net/tcp", pid));
    for (std::string line; std::getline(table, line);) {
        std::istringstream words(line);
        std::vector<std::string> fields;
        for (std::string word; words >> word;) fields.push_back(word);
        if (fields.size() > 9 && fields[3] == "0A") listening.insert("socket:[" + fields[9] + "]");
    }
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
        std::error_code gone;
        count += listening.count(std::filesystem::read_symlink(entry.path(), gone).string());
    }
    return count;
}

class RelayAdmin : public testing::Test {
protected:
    void SetUp() override { folder_.good({"migrate", "up"}); }

    void deliver_one(ChildProcess& relay) const {
        folder_.good({"enqueue", "order.placed", "--payload", "17"});
        EXPECT_THAT(relay.read_line(patience).value_or(""), HasSubstr("order.placed"));
    }
    static bool wait_for_log(const ProgramFolder& folder, const std::string& part) {
        return wait_until([&] { return count_of(folder.read("err"), part) > 0; }, patience);
    }
    static void stop(ChildProcess& relay) {
        relay.kill(SIGTERM);
        const std::optional<ExitStatus> status = relay.wait(patience);
        EXPECT_TRUE(status && status->success());
    }

    ProgramFolder folder_;
};

TEST_F(RelayAdmin, AnAddressThatIsTakenIsOneWarningAndDeliveryGoesOn) {
    const ProgramFolder other;
    ChildProcess first = other.start({"relay"});
    ASSERT_TRUE(wait_for_log(other, "ADMIN_READY"));
    const std::string address = text_member(other.read("err"), "url").substr(7);

    ChildProcess second = folder_.start({"relay", "--set", "admin.listen=" + address});
    ASSERT_TRUE(wait_for_log(folder_, "RELAY_READY"));
    deliver_one(second);
    EXPECT_EQ(listening_sockets(first.pid()), 1U);
    EXPECT_EQ(listening_sockets(second.pid()), 0U);
    stop(second);
    stop(first);
    const std::string log = folder_.read("err");
    EXPECT_EQ(count_of(log, "\"ADMIN_OFF\""), 1U) << log;
    EXPECT_THAT(log, HasSubstr("\"level\":\"WARNING\",\"event\":\"ADMIN_OFF\""));
    EXPECT_THAT(log, HasSubstr(address)) << "the warning tells which address";
}

TEST_F(RelayAdmin, WithoutAnAddressItIsOff) {
    ChildProcess relay = folder_.start({"relay", "--set", "admin.listen="});
    ASSERT_TRUE(wait_for_log(folder_, "RELAY_READY"));
    deliver_one(relay);
    EXPECT_EQ(listening_sockets(relay.pid()), 0U);
    stop(relay);
    EXPECT_EQ(count_of(folder_.read("err"), "ADMIN_"), 0U) << "neither ready nor a warning";
}

// Answers by path: takes it, takes it the second time, refuses it for good, fails each time.
constexpr const char* receiver_text = R"(
import http.server
seen = set()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        known = self.headers['webhook-id'] in seen
        seen.add(self.headers['webhook-id'])
        status = {'/good': 204, '/flaky': 204 if known else 500, '/bad': 422}.get(self.path, 500)
        self.send_response(status)
        self.send_header('Content-Length', '0')
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
)";

// Each topic has a sink of its own: the path of the receiver.
std::string config_for(const std::string& port) {
    std::string text = "[relay]\nretry_base = \"20ms\"\n";
    for (const std::string topic : {"good", "flaky", "bad", "broken", "later"}) {
        text += fmt::format(
            "[sinks.{0}]\ntype = \"http\"\nurl = \"http://127.0.0.1:{1}/{0}\"\n"
            "allow_networks = [\"127.0.0.0/8\"]\n"
            "[[routes]]\ntopic = \"{0}\"\nsink = \"{0}\"\n",
            topic, port);
        if (topic == "broken") text += "max_attempts = 3\n";
        if (topic == "later") text += "retry_base = \"1h\"\nretry_cap = \"1h\"\n";
    }
    return text;
}

// The sum of the samples of a metric that have all these labels.
double figure(const std::string& text, const std::string& name,
              const std::vector<std::string>& labels = {}) {
    std::istringstream lines(text);
    double sum = 0;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name + "{")) continue;
        const auto has = [&](const std::string& label) {
            return line.find(label) != std::string::npos;
        };
        if (std::ranges::all_of(labels, has)) sum += std::stod(line.substr(line.rfind(' ') + 1));
    }
    return sum;
}

class MetricsOn : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        folder.good({"migrate", "up"});
        folder.write("postroom.toml", config_for(receiver_.read_line(patience).value_or("")));
    }

    double rows(const std::string& table, const std::string& where = "1 = 1",
                const std::string& what = "count(*)") const {
        return std::stod(one_value(fmt::format("SELECT {} FROM {}outbox_{} WHERE {}", what,
                                               on("postgres") ? "infra." : "", table, where)));
    }

    std::string metrics() const {
        const std::string url = text_member(folder.read("err"), "url");
        const HttpClient client(
            static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
        client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        return client.read_all();
    }

    // What the tables say, beside the metric that has to say the same.
    struct Pair {
        std::string metric;
        std::vector<std::string> labels;
        double in_the_tables;
    };
    std::vector<Pair> pairs() const {
        const std::string outbox = "queue=\"outbox\"";
        std::vector<Pair> out;
        for (const std::string topic : {"good", "flaky", "bad", "broken", "later"}) {
            const std::string of_topic = fmt::format("topic = '{}'", topic);
            const std::string label = fmt::format("topic=\"{}\"", topic);
            const double dead = rows("waiting", "state = 3 AND " + of_topic);
            const double attempts = rows("done", of_topic, "COALESCE(SUM(retry_count), 0)") +
                                    rows("waiting", of_topic, "COALESCE(SUM(retry_count), 0)");
            out.push_back({"postroom_delivered_total", {outbox, label}, rows("done", of_topic)});
            out.push_back({"postroom_dead_total", {outbox, label}, dead});
            // The attempt that killed a message is not one that will be repeated.
            out.push_back({"postroom_delivery_failures_total", {outbox, label}, attempts - dead});
        }
        const auto backlog = [&](const std::string& state, double count) {
            out.push_back({"postroom_backlog", {outbox, "state=\"" + state + "\""}, count});
        };
        backlog("ready", rows("live") + rows("waiting", "state = 0"));
        backlog("dead", rows("waiting", "state = 3"));
        backlog("retrying", rows("waiting", "state = 0 AND retry_count > 0"));
        backlog("in_progress", 0);
        for (const char* const histogram : {"end_to_end", "sink_send"})
            out.push_back(
                {fmt::format("postroom_{}_seconds_count", histogram), {outbox}, rows("done")});
        for (const char* const nothing :
             {"inflight", "hot_depth", "cold_depth", "queue_capacity_ratio", "lease_lost_total",
              "stale_settle_total", "store_failures_total"})
            out.push_back({std::string("postroom_") + nothing, {}, 0});
        return out;
    }

private:
    ChildProcess receiver_{{.program = "/usr/bin/python3", .arguments = {"-c", receiver_text}}};
};

// Goal: once nothing happens any more, whoever adds up the figures finds what lies in the tables.
TEST_P(MetricsOn, AreTrueToTheTablesWhenTheRelayIsAtRest) {
    std::string lines;
    for (const auto& [topic, count] :
         {std::pair{"good", 40}, std::pair{"flaky", 12}, std::pair{"bad", 5},
          std::pair{"broken", 4}, std::pair{"later", 3}})
        for (int i = 0; i < count; ++i)
            lines += fmt::format("{{\"topic\":\"{}\",\"payload\":1}}\n", topic);
    folder.good({"enqueue", "--jsonl"}, lines);
    enqueue("good", {"--due-time", "2999-01-01T00:00:00Z"});
    ChildProcess relay = folder.start({"relay"});
    ASSERT_TRUE(wait_for_log("ADMIN_READY"));
    ASSERT_TRUE(wait_until(
        [&] {
            return rows("done") == 52 && rows("waiting", "state = 3") == 9 &&
                   rows("waiting", "state = 0 AND retry_count = 1") == 3 && rows("live") == 0;
        },
        patience, 100ms));
    const std::vector<Pair> expected = pairs();
    std::string told;
    const auto agrees = [&](const Pair& pair) {
        return figure(told, pair.metric, pair.labels) == pair.in_the_tables;
    };
    // The last look at the tables may be some seconds old.
    wait_until(
        [&] {
            told = metrics();
            return std::ranges::all_of(expected, agrees);
        },
        patience, 200ms);
    for (const Pair& pair : expected)
        EXPECT_EQ(figure(told, pair.metric, pair.labels), pair.in_the_tables)
            << pair.metric << " " << testing::PrintToString(pair.labels);
    EXPECT_THAT(told, HasSubstr("postroom_inflight{"));
    EXPECT_THAT(told, HasSubstr("postroom_queue_capacity_ratio{"));
    EXPECT_TRUE(stop(relay));
}

POSTROOM_ON_ALL_DATABASES(MetricsOn);

}  // namespace
}  // namespace postroom::test::relay_admin_test
