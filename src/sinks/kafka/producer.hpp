// Producer: one idempotent producer of librdkafka, for one batch at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <librdkafka/rdkafka.h>

#include "queue/key_order.hpp"
#include "queue/suspects.hpp"
#include "sinks/kafka/options.hpp"

namespace postroom::sink_kafka {

// Thread safety: one thread at a time. Delivery reports are served by the thread that sends.
class Producer {
public:
    // `options` and `suspects` must outlive it. Does not connect. Throws std::invalid_argument when
    // librdkafka refuses a setting.
    Producer(const KafkaOptions& options, Suspects& suspects);
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    // Returns when every message has been acknowledged or given up.
    std::vector<Verdict> send(Wave wave, const std::stop_token& stop);

    // Asks which brokers there are. Throws DestinationDown.
    void probe();

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
        bool unanswered = false;    // it was sent, and no answer came

        void take(rd_kafka_resp_err_t error);
    };

    std::vector<Verdict> send_together(Wave wave, const std::stop_token& stop);
    void judge_unanswered(Wave wave, std::vector<Slot>& slots, Suspects::Time begun);
    static void report(rd_kafka_t* handle, const rd_kafka_message_t* message, void* opaque);
    static rd_kafka_resp_err_t listen(rd_kafka_t* handle, const rd_kafka_conf_t* conf, void* self,
                                      char* why, std::size_t why_size);
    static rd_kafka_resp_err_t note_response(rd_kafka_t* handle, int socket, const char* broker,
                                             std::int32_t broker_id, std::int16_t request,
                                             std::int16_t version, std::int32_t correlation,
                                             std::size_t size, std::int64_t round_trip,
                                             rd_kafka_resp_err_t error, void* self);
    bool produce(const Message& message, Slot& slot);
    void produce_all(Wave wave, std::vector<Slot>& slots, const std::stop_token& stop);
    static void note_error(rd_kafka_t* handle, int error, const char* reason, void* self);
    std::string why(rd_kafka_resp_err_t error) const;
    Verdict verdict_of(rd_kafka_resp_err_t error, const std::string& topic) const;

    const KafkaOptions& options_;
    Suspects& suspects_;
    // Why a broker could not be reached, in the words of the system or the broker; empty since a
    // message was acknowledged.
    std::string last_error_;
    // Whether the last produce request that ended did so with its connection, closed by the other
    // side. Written by the library's threads.
    std::atomic<bool> last_was_cut_off_{false};
    std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> handle_;
};

}  // namespace postroom::sink_kafka
