#include "sinks/outage.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "postroom/dispatcher.hpp"
#include "postroom/metrics.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "support/scale.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t batch_max = 50;
constexpr std::uint32_t workers = 4;
constexpr std::size_t keys = 40;
constexpr const char* topic = "order.placed";

std::set<std::string> enqueue(const Outbox& outbox, std::size_t count) {
    std::set<std::string> ids;
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < count; ++i) {
        NewMessage message{.topic = topic, .payload = std::to_string(i)};
        if (i % 5 == 0) message.ordering_key = fmt::format("key{}", (i / 5) % keys);
        messages.push_back(std::move(message));
        if (messages.size() < 500 && i + 1 < count) continue;
        for (const EnqueueResult& result : outbox.enqueue_all(messages))
            ids.insert(result.message_id.str());
        messages.clear();
    }
    return ids;
}

void expect_order(const std::vector<Received>& received) {
    std::map<std::string, std::uint64_t> last;
    std::set<std::string> seen;
    for (const Received& message : received) {
        if (message.key.empty() || !seen.insert(message.message_id).second) continue;
        const std::uint64_t number = std::stoull(message.payload);
        const auto [found, is_first] = last.try_emplace(message.key, number);
        if (is_first) continue;
        EXPECT_LT(found->second, number) << "of the key " << message.key;
        found->second = number;
    }
    EXPECT_EQ(last.size(), keys);
}

// Keeps the last quarter until the peer was killed, however late the test comes to it.
class UnfinishedSink final : public Sink {
public:
    UnfinishedSink(std::unique_ptr<Sink> sink, std::size_t count, const std::atomic<bool>& killed)
        : sink_(std::move(sink)), most_(count - count / 4), killed_(killed) {}
    std::vector<Verdict> send(std::span<const Message> messages, std::stop_token stop) override {
        while (!killed_ && acknowledged_ + messages.size() > most_ && !stop.stop_requested())
            std::this_thread::sleep_for(1ms);
        std::vector<Verdict> verdicts = sink_->send(messages, std::move(stop));
        for (const Verdict& verdict : verdicts) {
            if (verdict.outcome == Outcome::ack) ++acknowledged_;
        }
        return verdicts;
    }
    std::string destination() const override { return sink_->destination(); }

private:
    const std::unique_ptr<Sink> sink_;
    const std::size_t most_;
    const std::atomic<bool>& killed_;
    std::atomic<std::size_t> acknowledged_ = 0;
};

}  // namespace

void expect_outage_is_survived(std::unique_ptr<Sink> sink, const OutagePeer& peer) {
    TempDir folder;
    const std::unique_ptr<Store> store =
        open_store("sqlite:" + (folder / "outage.db").string(), {.deploy_schema = true});
    const std::size_t count = scaled(20'000, 1'000);
    const Outbox outbox(*store);
    const std::set<std::string> ids = enqueue(outbox, count);

    std::atomic<bool> killed = false;
    Metrics metrics;
    Dispatcher dispatcher(*store, {.worker_count = workers,
                                   .circuit_open_for = 100ms,
                                   .circuit_open_for_max = 500ms,
                                   .poll_interval_max = 100ms,
                                   .observer = &metrics});
    dispatcher.routes().on_batch(
        topic, batch_max,
        handler_of(std::make_unique<UnfinishedSink>(std::move(sink), count, killed)));
    dispatcher.start();
    ASSERT_TRUE(wait_until([&] { return peer.received_count() >= count / 4; }, 120s));
    peer.kill();
    killed = true;
    ASSERT_TRUE(wait_until([&] { return !dispatcher.status().open_circuits.empty(); }, 60s));
    const std::size_t before = peer.received_count();
    peer.restart();
    const auto is_drained = [&] {
        const Counts counts = outbox.counts();
        return counts.ready + counts.in_progress == 0;
    };
    EXPECT_TRUE(wait_until(is_drained, 300s, 50ms));
    dispatcher.close();

    const std::vector<Received> received = peer.received();
    std::set<std::string> arrived;
    for (const Received& message : received) arrived.insert(message.message_id);
    const MetricsSnapshot figures = metrics.snapshot(Queue::outbox);
    EXPECT_LT(before, count) << "the outage came after the last message";
    EXPECT_EQ(arrived, ids);
    EXPECT_EQ(figures.dispatch_failure, 0u) << "attempts were spent on the outage";
    EXPECT_EQ(figures.dispatch_dead, 0u);
    EXPECT_GE(figures.circuit_opened, 1u);
    EXPECT_LE(received.size() - arrived.size(),
              std::size_t{workers} * batch_max * figures.circuit_opened);
    expect_order(received);
    std::printf("%zu messages, %zu arrived before the outage, %zu twice, %llu attempts spent\n",
                ids.size(), before, received.size() - arrived.size(),
                static_cast<unsigned long long>(figures.dispatch_failure));
}

}  // namespace postroom::test
