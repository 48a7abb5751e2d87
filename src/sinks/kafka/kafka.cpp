// Records to Kafka, acknowledged by all replicas in sync.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "base/mutex.hpp"
#include "postroom/sink.hpp"
#include "queue/key_order.hpp"
#include "sinks/kafka/producer.hpp"

namespace postroom::sink_kafka {

namespace {

// How many times in a row a message may remain unanswered, while no other message shows that the
// cluster works, until that costs it attempts.
constexpr std::uint64_t unanswered_max = 20;

class KafkaSink final : public Sink {
public:
    // The first producer is made at once, so that settings which the library refuses are known.
    explicit KafkaSink(KafkaOptions options) : options_(std::move(options)) {
        const base::MutexLock lock(mutex_);
        producers_.push_back(std::make_unique<Producer>(options_, suspects_));
    }

    std::vector<Verdict> send(std::span<const Message> messages, std::stop_token stop) override {
        if (closed_) throw DestinationDown(options_.origin() + ": the sink is closed");
        std::unique_ptr<Producer> producer = take_producer();
        std::vector<Verdict> verdicts =
            send_in_key_order(messages, [&](Wave wave) { return producer->send(wave, stop); });
        // After an outage a new one begins afresh, without the waits and doubts of the old one.
        if (producer->is_broken() || std::ranges::any_of(verdicts, &Verdict::destination_down))
            return verdicts;
        const base::MutexLock lock(mutex_);
        if (!closed_) producers_.push_back(std::move(producer));
        return verdicts;
    }

    std::string destination() const override { return options_.origin(); }

    bool probe() override {
        Producer(options_, suspects_).probe();
        return true;
    }

    void close() override {
        closed_ = true;
        const base::MutexLock lock(mutex_);
        producers_.clear();
    }

private:
    std::unique_ptr<Producer> take_producer() {
        const base::MutexLock lock(mutex_);
        if (producers_.empty()) return std::make_unique<Producer>(options_, suspects_);
        std::unique_ptr<Producer> producer = std::move(producers_.back());
        producers_.pop_back();
        return producer;
    }

    const KafkaOptions options_;
    Suspects suspects_{unanswered_max};
    std::atomic<bool> closed_{false};
    base::Mutex mutex_;
    std::vector<std::unique_ptr<Producer>> producers_ POSTROOM_GUARDED_BY(mutex_);  // not in use
};

std::unique_ptr<Sink> make(const SinkSettings& settings) {
    KafkaOptions options = read_options(settings);
    try {
        return std::make_unique<KafkaSink>(std::move(options));
    } catch (const SinkConfigError&) {
        throw;
    } catch (const std::invalid_argument& error) {
        settings.refuse("brokers", error.what());
    }
}

}  // namespace

SinkType type() {
    return {.name = "kafka",
            .what = "Records to Kafka as CloudEvents, acknowledged by all replicas in sync.",
            .settings = described_settings(),
            .make = &make};
}

}  // namespace postroom::sink_kafka
