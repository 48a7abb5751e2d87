// Producer: one idempotent producer of librdkafka, for one batch at a time.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <librdkafka/rdkafka.h>

#include "queue/key_order.hpp"
#include "sinks/kafka/options.hpp"

namespace postroom::sink_kafka {

// Thread safety: one thread at a time. Delivery reports are served by the thread that sends.
class Producer {
public:
    // `options` must outlive it. Does not connect. Throws std::invalid_argument when librdkafka
    // refuses a setting.
    explicit Producer(const KafkaOptions& options);
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    // Returns when every message has been acknowledged or given up.
    std::vector<Verdict> send(Wave wave, const std::stop_token& stop);

    // It has met an error after which it cannot be used any more.
    bool is_broken() const;

private:
    // Where a delivery report leaves its verdict.
    struct Slot {
        const Producer* producer = nullptr;
        std::size_t* open = nullptr;
        std::optional<Verdict> verdict{};
        std::string topic{};        // in Kafka
        bool batch_blamed = false;  // the broker refused its whole batch

        void take(rd_kafka_resp_err_t error);
    };

    static void report(rd_kafka_t* handle, const rd_kafka_message_t* message, void* opaque);
    bool produce(const Message& message, Slot& slot);
    void produce_all(Wave wave, std::vector<Slot>& slots, const std::stop_token& stop);
    Verdict verdict_of(rd_kafka_resp_err_t error, const std::string& topic) const;

    const KafkaOptions& options_;
    std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> handle_;
};

}  // namespace postroom::sink_kafka
