// SIGKILL of the relay, again and again, while messages are being written and delivered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "program/e2e_peers.hpp"
#include "program/program.hpp"
#include "support/postgres_server.hpp"
#include "support/scale.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::relay_kill_test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds patience = 300s;

bool has_key(std::uint64_t number) { return number % 2 == 0; }
std::uint64_t key_of(std::uint64_t number) { return number % 64; }

// Writes numbered messages: a backlog at once, and then a few at a time until it is told to stop.
// Every other one has an ordering key.
class Writer {
public:
    explicit Writer(const std::string& url)
        : store_(open_store(url)), outbox_(*store_), backlog_(scaled(5'000, 500)) {
        while (placed_ < backlog_) write(std::min<std::size_t>(500, backlog_ - placed_));
        thread_ = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                write(4);
                std::this_thread::sleep_for(20ms);
            }
        });
    }

    // Returns how many were placed.
    std::size_t finish() {
        thread_.request_stop();
        thread_.join();
        return placed_;
    }

private:
    void write(std::size_t count) {
        std::vector<NewMessage> messages;
        for (std::size_t number = placed_; number < placed_ + count; ++number) {
            messages.push_back({.topic = "order.placed",
                                .payload = fmt::format("{}\n", number),
                                .content_type = "text/plain"});
            if (has_key(number))
                messages.back().ordering_key = fmt::format("key{}", key_of(number));
        }
        outbox_.enqueue_all(messages);
        placed_ += count;
    }

    const std::unique_ptr<Store> store_;
    const Outbox outbox_;
    const std::size_t backlog_;
    std::size_t placed_ = 0;  // of the thread, until it has ended
    std::jthread thread_;
};

// What has arrived, by number and how often. Messages of a key must arrive in order, apart from
// those that come again.
class Arrivals {
public:
    void add(const std::string& text) {
        const std::uint64_t number = std::stoull(text);
        ++total_;
        if (++times_[number] > 1 || !has_key(number)) return;
        const auto [last, is_first] = last_of_key_.try_emplace(key_of(number), number);
        if (is_first) return;
        EXPECT_LT(last->second, number);
        last->second = number;
    }
    std::size_t total() const { return total_; }
    std::size_t different() const { return times_.size(); }

    void expect_all_of(std::size_t placed) const {
        EXPECT_EQ(times_.size(), placed);
        for (std::uint64_t number = 0; number < placed; ++number)
            EXPECT_TRUE(times_.contains(number)) << number << " is lost";
    }

private:
    std::map<std::uint64_t, int> times_;
    std::map<std::uint64_t, std::uint64_t> last_of_key_;
    std::size_t total_ = 0;
};

// Starts relays in `folder` and kills each while it delivers; lets the last one deliver the rest.
// `update` adds to the arrivals what has come.
void expect_kills_lose_nothing(const ProgramFolder& folder, const std::string& url,
                               const std::function<void(Arrivals&)>& update) {
    const std::uint64_t kills = scaled(100, 10);
    std::mt19937 random(20'26);
    std::uniform_int_distribution<int> moment(0, 40);
    Arrivals arrivals;
    Writer writer(url);
    for (std::uint64_t i = 0; i < kills; ++i) {
        ChildProcess relay = folder.start({"relay"});
        // Its own log tells that it is in the middle of its work.
        const auto is_delivering = [&] {
            return folder.read("err").find("OUTBOX_WORKER_DISPATCH_SUCCESS") != std::string::npos;
        };
        ASSERT_TRUE(wait_until(is_delivering, patience)) << "kill " << i << folder.read("err");
        std::this_thread::sleep_for(std::chrono::milliseconds(moment(random)));
        relay.kill(SIGKILL);
        ASSERT_TRUE(relay.wait(patience));
    }
    const std::size_t placed = writer.finish();
    ChildProcess relay = folder.start({"relay"});
    const std::unique_ptr<Store> store = open_store(url);
    // What was delivered and not yet noted comes once more when the lease of the dead has run out.
    EXPECT_TRUE(wait_until(
        [&] {
            update(arrivals);
            const Counts counts = store->counts(Queue::outbox);
            return counts.ready + counts.in_progress == 0 && arrivals.different() >= placed;
        },
        patience, 50ms));
    relay.kill(SIGTERM);
    const std::optional<ExitStatus> ended = relay.wait(patience);
    ASSERT_TRUE(ended) << "it does not end";
    EXPECT_TRUE(ended->success());
    update(arrivals);
    arrivals.expect_all_of(placed);
    EXPECT_EQ(store->counts(Queue::outbox).dead, 0U);
    std::printf("%zu placed, %zu delivered, %zu of them duplicates, %zu lost, %llu kills\n", placed,
                arrivals.total(), arrivals.total() - arrivals.different(),
                placed - std::min(placed, arrivals.different()),
                static_cast<unsigned long long>(kills));
}

// Leases that run out soon, and messages that may be killed over as often as it happens.
std::string relay_settings() {
    return R"([relay]
lease = "1s"
worker_count = 2
batch = 20
capacity = 100
crash_limit = 1000
poll_interval_max = "100ms"
)";
}

TEST(RelayKillRabbitmq, NothingIsLost) {
    const PostgresDatabase database;
    const RabbitQueue queue;
    ProgramFolder folder;
    folder.set("POSTROOM_URL", database.url());
    folder.set("RABBIT_URL", queue.url());
    folder.write("postroom.toml", fmt::format(R"({}
[sinks.orders]
type = "rabbitmq"
url = "${{env:RABBIT_URL}}"
routing_key = "{}"
)",
                                              relay_settings(), queue.name()));
    folder.good({"migrate", "up"});
    ChildProcess consumer = queue.consume();
    expect_kills_lose_nothing(folder, database.url(), [&consumer](Arrivals& arrivals) {
        while (const std::optional<std::string> number = consumer.read_line(20ms))
            arrivals.add(*number);
    });
}

TEST(RelayKillHttp, NothingIsLost) {
    ProgramFolder folder;
    ChildProcess receiver({.program = program_path("http_receiver"),
                           .arguments = {"0", (folder / "journal").string()}});
    const std::optional<std::string> port = receiver.read_line(patience);
    ASSERT_TRUE(port);
    const std::string url = "sqlite:" + (folder / "shop.db").string();
    folder.set("POSTROOM_URL", url);
    folder.write("postroom.toml", fmt::format(R"({}
[sinks.shop]
type = "http"
url = "http://127.0.0.1:{}/hook"
allow_networks = "127.0.0.1"
)",
                                              relay_settings(), *port));
    folder.good({"migrate", "up"});
    std::ifstream journal;
    std::string unfinished;
    expect_kills_lose_nothing(folder, url, [&](Arrivals& arrivals) {
        if (!journal.is_open()) journal.open(folder / "journal");
        journal.clear();
        // Each has two lines: id, key and payload, and then nothing, because payloads end a line.
        for (std::string line; std::getline(journal, line);) {
            unfinished += line;
            if (journal.eof()) break;  // the rest of the line is still to come
            line = std::exchange(unfinished, {});
            if (!line.empty()) arrivals.add(line.substr(line.rfind(' ') + 1));
        }
    });
}

}  // namespace
}  // namespace postroom::test::relay_kill_test
