#include "sinks/kafka/producer.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/rfc3339.hpp"
#include "postroom/handler.hpp"
#include "queue/handler_run.hpp"
#include "queue/partial_outage.hpp"

namespace postroom::sink_kafka {

namespace {

constexpr int poll_wait_ms = 50;
constexpr std::size_t topic_chars_max = 249;

using Conf = std::unique_ptr<rd_kafka_conf_t, void (*)(rd_kafka_conf_t*)>;
using KafkaHeaders = std::unique_ptr<rd_kafka_headers_t, void (*)(rd_kafka_headers_t*)>;

// The library's words may repeat the value; only the name is shown.
void set(const Conf& conf, const char* name, const std::string& value) {
    std::array<char, 512> why{};
    if (rd_kafka_conf_set(conf.get(), name, value.c_str(), why.data(), why.size()) !=
        RD_KAFKA_CONF_OK)
        throw std::invalid_argument(fmt::format("librdkafka refuses its setting {}", name));
}

void add(const KafkaHeaders& headers, std::string_view name, std::string_view value) {
    rd_kafka_header_add(headers.get(), name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
}

// The Kafka protocol binding of CloudEvents, in binary mode; then the message's own.
KafkaHeaders headers_of(const Message& message, const std::string& source) {
    KafkaHeaders headers(rd_kafka_headers_new(8 + message.headers.size()),
                         &rd_kafka_headers_destroy);
    add(headers, "ce_specversion", "1.0");
    add(headers, "ce_id", message.message_id.str());
    add(headers, "ce_source", source);
    add(headers, "ce_type", message.topic);
    add(headers, "ce_time", base::rfc3339(message.occurred_at.value_or(message.created_at)));
    add(headers, "content-type", message.content_type);
    if (!message.aggregate_id.empty()) add(headers, "ce_subject", message.aggregate_id);
    if (!message.correlation_id.empty()) add(headers, "ce_correlationid", message.correlation_id);
    // A service that passes on the headers it was given must not replace the id that receivers know
    // duplicates by.
    for (const auto& [name, value] : message.headers)
        if (!name.starts_with("ce_") && name != "content-type") add(headers, name, value);
    return headers;
}

bool is_topic(std::string_view name) {
    constexpr std::string_view allowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !name.empty() && name.size() <= topic_chars_max && name != "." && name != ".." &&
           name.find_first_not_of(allowed) == std::string_view::npos;
}

// Errors that a broker gives to a whole batch because of one record in it.
bool blames_the_batch(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
           error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
           error == RD_KAFKA_RESP_ERR_INVALID_MSG || error == RD_KAFKA_RESP_ERR_INVALID_RECORD;
}

std::string milliseconds_text(Duration duration) {
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

Verdict stopped() {
    return {.outcome = Outcome::release,
            .error = "the sink was asked to stop",
            .delay = blameless_pause};
}

}  // namespace

Producer::Producer(const KafkaOptions& options) : options_(options), handle_(nullptr, nullptr) {
    Conf conf(rd_kafka_conf_new(), &rd_kafka_conf_destroy);
    set(conf, "bootstrap.servers", options.brokers);
    set(conf, "client.id", "postroom");
    set(conf, "enable.idempotence", "true");
    set(conf, "acks", "all");
    set(conf, "partitioner", "murmur2_random");  // as the clients in Java do
    set(conf, "linger.ms", "2");
    set(conf, "reconnect.backoff.ms", "50");
    set(conf, "reconnect.backoff.max.ms", "500");  // the circuit does the waiting
    set(conf, "message.max.bytes", std::to_string(options.message_bytes_max));
    set(conf, "message.timeout.ms", milliseconds_text(options.delivery_timeout));
    // How long a topic that the cluster does not know may still be in the making. It must end well
    // before the messages' own time: else a missing topic looks like a cluster that is away.
    set(conf, "topic.metadata.propagation.max.ms", milliseconds_text(options.delivery_timeout / 3));
    set(conf, "compression.codec", options.compression);
    set(conf, "security.protocol", options.security);
    if (!options.ca_file.empty()) set(conf, "ssl.ca.location", options.ca_file);
    if (options.mechanism != "none") {
        set(conf, "sasl.mechanism", options.mechanism);
        set(conf, "sasl.username", options.username);
        set(conf, "sasl.password", options.password);
    }
    rd_kafka_conf_set_dr_msg_cb(conf.get(), &Producer::report);
    rd_kafka_conf_set_log_cb(conf.get(), nullptr);  // verdicts tell what is wrong
    std::array<char, 512> why{};
    rd_kafka_t* const handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), why.data(), why.size());
    if (handle == nullptr) throw std::invalid_argument("librdkafka refuses the settings");
    (void)conf.release();  // is the producer's now
    handle_ = {handle, &rd_kafka_destroy};
}

void Producer::Slot::take(rd_kafka_resp_err_t error) {
    batch_blamed = blames_the_batch(error);
    verdict = producer->verdict_of(error, topic);
}

bool Producer::is_broken() const {
    return rd_kafka_fatal_error(handle_.get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;
}

void Producer::produce_all(Wave wave, std::vector<Slot>& slots, const std::stop_token& stop) {
    for (std::size_t i = 0; i < wave.size(); ++i) {
        try {
            // The library's queue is full: reports make room.
            while (!produce(*wave[i], slots[i])) {
                if (stop.stop_requested()) {
                    slots[i].verdict = stopped();
                    break;
                }
                rd_kafka_poll(handle_.get(), poll_wait_ms);
            }
        } catch (const PermanentFailure& failure) {
            slots[i].verdict = Verdict::fail(failure.what());
        }
    }
}

std::vector<Verdict> Producer::send(Wave wave, const std::stop_token& stop) {
    std::size_t open = 0;
    std::vector<Slot> slots(wave.size());
    for (Slot& slot : slots) {
        slot.producer = this;
        slot.open = &open;
    }
    produce_all(wave, slots, stop);
    // Each message has its report before `delivery_timeout` has passed, or right after the purge.
    bool purged = false;
    while (open > 0) {
        if (stop.stop_requested() && !std::exchange(purged, true))
            rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_poll(handle_.get(), poll_wait_ms);
    }
    std::vector<Verdict> verdicts;
    std::optional<Verdict> outage;
    for (std::size_t i = 0; i < wave.size(); ++i) {
        if (!slots[i].batch_blamed || wave.size() == 1) {
            verdicts.push_back(*std::move(slots[i].verdict));
        } else if (outage) {
            verdicts.push_back(*outage);  // each would wait for as long
        } else {
            // Alone it is seen whose fault that is.
            verdicts.push_back(send(wave.subspan(i, 1), stop).front());
            if (verdicts.back().destination_down) outage = verdicts.back();
        }
    }
    spare_a_living_destination(verdicts);
    return verdicts;
}

// False when there is no room for it now.
bool Producer::produce(const Message& message, Slot& slot) {
    slot.topic = options_.topic.empty() ? message.topic : options_.topic;
    const std::string& topic = slot.topic;
    if (!is_topic(topic)) throw PermanentFailure("its topic cannot be the name of one in Kafka");
    KafkaHeaders headers = headers_of(message, options_.source);
    const bool has_key = !message.ordering_key.empty();
    // The library copies payload and key, and only reads them.
    const rd_kafka_resp_err_t error = rd_kafka_producev(
        handle_.get(), RD_KAFKA_VTYPE_TOPIC, topic.c_str(), RD_KAFKA_VTYPE_MSGFLAGS,
        RD_KAFKA_MSG_F_COPY, RD_KAFKA_VTYPE_VALUE, message.payload.data(), message.payload.size(),
        RD_KAFKA_VTYPE_KEY, has_key ? message.ordering_key.data() : nullptr,
        message.ordering_key.size(), RD_KAFKA_VTYPE_HEADERS, headers.get(), RD_KAFKA_VTYPE_OPAQUE,
        static_cast<void*>(&slot), RD_KAFKA_VTYPE_END);
    if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) return false;
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
        (void)headers.release();  // went along
        ++*slot.open;
    } else {
        slot.take(error);
    }
    return true;
}

void Producer::report(rd_kafka_t* /*handle*/, const rd_kafka_message_t* message, void* /*opaque*/) {
    Slot& slot = *static_cast<Slot*>(message->_private);
    slot.take(message->err);
    --*slot.open;
}

Verdict Producer::verdict_of(rd_kafka_resp_err_t error, const std::string& topic) const {
    const std::string why = fmt::format("{}: {}", options_.origin(), rd_kafka_err2str(error));
    switch (error) {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
            return Verdict::done();
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
        case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
        case RD_KAFKA_RESP_ERR_INVALID_MSG:
        case RD_KAFKA_RESP_ERR_INVALID_RECORD:
            return Verdict::fail(why);
        // Of the message's topic, and not of the cluster: others must not wait for it.
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
            return Verdict::retry(
                fmt::format("{}: the cluster has no topic '{}'", options_.origin(), topic));
        case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            return Verdict::retry(fmt::format("{}, topic '{}'", why, topic));
        case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
        case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
            return stopped();
        default:
            return Verdict::down(why);
    }
}

}  // namespace postroom::sink_kafka
