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

// Older ones have no name for the verification of host names, or do not verify them by themselves.
constexpr int library_version_min = 0x02000000;
static_assert(RD_KAFKA_VERSION >= library_version_min, "librdkafka 2.0.0 or newer is needed");

constexpr int poll_wait_ms = 50;
constexpr std::size_t topic_chars_max = 249;

using Conf = std::unique_ptr<rd_kafka_conf_t, void (*)(rd_kafka_conf_t*)>;
using Handle = std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)>;
using KafkaHeaders = std::unique_ptr<rd_kafka_headers_t, void (*)(rd_kafka_headers_t*)>;

// The library's words may repeat the value; only the name is shown.
void set(const Conf& conf, const char* name, const std::string& value) {
    std::array<char, 512> why{};
    if (rd_kafka_conf_set(conf.get(), name, value.c_str(), why.data(), why.size()) !=
        RD_KAFKA_CONF_OK)
        throw std::invalid_argument(fmt::format("librdkafka refuses its setting {}", name));
}

// The one that is loaded may be another than the one that was compiled with.
void require_library() {
    if (rd_kafka_version() < library_version_min)
        throw std::invalid_argument(fmt::format("librdkafka {} is loaded; 2.0.0 or newer is needed",
                                                rd_kafka_version_str()));
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

// Errors that a broker gives to a whole batch because of one record in it, or that the library
// finds in what it is to write.
bool blames_the_batch(rd_kafka_resp_err_t error) {
    switch (error) {
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
        case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
        case RD_KAFKA_RESP_ERR_INVALID_MSG:
        case RD_KAFKA_RESP_ERR_INVALID_RECORD:
        case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
        case RD_KAFKA_RESP_ERR_INVALID_REQUEST:
        case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
        case RD_KAFKA_RESP_ERR__BAD_MSG:
        case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
        case RD_KAFKA_RESP_ERR__INVALID_ARG:
            return true;
        default:
            return false;
    }
}

std::string milliseconds_text(Duration duration) {
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

constexpr int probe_timeout_ms = 10'000;
constexpr std::int16_t produce_request = 0;  // Kafka's number for it
constexpr const char* interceptor_name = "postroom";

enum class Intercepted : bool { no, yes };

// When the library refuses settings with an interceptor it frees that, and would do so again with
// the settings: those are lost then. Try them without one before.
Handle handle_of(Conf conf, Intercepted intercepted) {
    std::array<char, 512> why{};
    Handle handle(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), why.data(), why.size()),
                  &rd_kafka_destroy);
    if (handle != nullptr || intercepted == Intercepted::yes)
        (void)conf.release();  // is the handle's now, or half gone
    if (handle == nullptr) throw std::invalid_argument("librdkafka refuses the settings");
    return handle;
}

Verdict stopped() {
    return {.outcome = Outcome::release,
            .error = "the sink was asked to stop",
            .delay = blameless_pause};
}

}  // namespace

Producer::Producer(const KafkaOptions& options, Suspects& suspects)
    : options_(options), suspects_(suspects), handle_(nullptr, nullptr) {
    require_library();
    Conf conf(rd_kafka_conf_new(), &rd_kafka_conf_destroy);
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
    if (options.tls) {
        set(conf, "enable.ssl.certificate.verification", "true");
        set(conf, "ssl.endpoint.identification.algorithm", "https");
    }
    if (!options.ca_file.empty()) set(conf, "ssl.ca.location", options.ca_file);
    if (options.mechanism != "none") {
        set(conf, "sasl.mechanism", options.mechanism);
        set(conf, "sasl.username", options.username);
        set(conf, "sasl.password", options.password);
    }
    rd_kafka_conf_set_dr_msg_cb(conf.get(), &Producer::report);
    rd_kafka_conf_set_opaque(conf.get(), this);
    rd_kafka_conf_set_error_cb(conf.get(), &Producer::note_error);
    rd_kafka_conf_set_log_cb(conf.get(), nullptr);  // verdicts tell what is wrong
    // Without brokers yet, so that it connects to nobody.
    (void)handle_of(Conf(rd_kafka_conf_dup(conf.get()), &rd_kafka_conf_destroy), Intercepted::no);
    set(conf, "bootstrap.servers", options.brokers);
    rd_kafka_conf_interceptor_add_on_new(conf.get(), interceptor_name, &Producer::listen, this);
    handle_ = handle_of(std::move(conf), Intercepted::yes);
}

void Producer::Slot::take(rd_kafka_resp_err_t error) {
    batch_blamed = blames_the_batch(error);
    verdict = producer->verdict_of(error, topic);
}

void Producer::probe() {
    const struct rd_kafka_metadata* found = nullptr;
    const rd_kafka_resp_err_t error =
        rd_kafka_metadata(handle_.get(), 0, nullptr, &found, probe_timeout_ms);
    if (found != nullptr) rd_kafka_metadata_destroy(found);
    rd_kafka_poll(handle_.get(), 0);  // brings the reason
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw DestinationDown(why(error));
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

// Suspects go last and one at a time: when the cluster chokes on one of them, no others wait with
// it, and those that were served before show whose fault that is.
std::vector<Verdict> Producer::send(Wave wave, const std::stop_token& stop) {
    std::vector<std::size_t> order;
    std::vector<const Message*> fresh;
    std::vector<std::size_t> tried;
    for (std::size_t i = 0; i < wave.size(); ++i) {
        if (suspects_.last_unanswered(wave[i]->message_id.str())) {
            tried.push_back(i);
        } else {
            order.push_back(i);
            fresh.push_back(wave[i]);
        }
    }
    if (tried.empty()) return send_together(wave, stop);
    std::vector<Verdict> verdicts(wave.size());
    std::vector<Verdict> first = send_together(fresh, stop);
    for (std::size_t i = 0; i < order.size(); ++i) verdicts[order[i]] = std::move(first[i]);
    std::optional<Verdict> outage;
    for (const std::size_t position : tried) {
        Verdict& verdict = verdicts[position];
        verdict = outage ? *outage : send_together(wave.subspan(position, 1), stop).front();
        if (verdict.destination_down) outage = verdict;  // each would wait for as long
    }
    spare_a_living_destination(verdicts);
    return verdicts;
}

std::vector<Verdict> Producer::send_together(Wave wave, const std::stop_token& stop) {
    const Suspects::Time begun = std::chrono::steady_clock::now();
    last_was_cut_off_ = false;
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
    judge_unanswered(wave, slots, begun);
    std::vector<Verdict> verdicts;
    std::optional<Verdict> outage;
    for (std::size_t i = 0; i < wave.size(); ++i) {
        if (!slots[i].batch_blamed || wave.size() == 1) {
            verdicts.push_back(*std::move(slots[i].verdict));
        } else if (outage) {
            verdicts.push_back(*outage);  // each would wait for as long
        } else {
            // Alone it is seen whose fault that is.
            verdicts.push_back(send_together(wave.subspan(i, 1), stop).front());
            if (verdicts.back().destination_down) outage = verdicts.back();
        }
    }
    spare_a_living_destination(verdicts);
    return verdicts;
}

// Whoever was answered speaks for the cluster before the others are judged. Time that ran out is
// never held against a message: its partition may hang while others do not. Only a connection that
// was closed under it is. Of several that were under way then, each may be the one that the broker
// choked on: the next time they go alone.
void Producer::judge_unanswered(Wave wave, std::vector<Slot>& slots, Suspects::Time begun) {
    for (std::size_t i = 0; i < wave.size(); ++i) {
        if (slots[i].verdict->outcome != Outcome::ack) continue;
        suspects_.answered(wave[i]->message_id.str(), begun);
        last_error_.clear();
    }
    if (!last_was_cut_off_) return;
    const Suspects::Time now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < wave.size(); ++i) {
        if (!slots[i].unanswered) continue;
        const Suspects::Finding finding = suspects_.unanswered(wave[i]->message_id.str(), now);
        if (wave.size() == 1)
            slots[i].verdict = postroom::verdict_of(finding, slots[i].verdict->error);
    }
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
        // Nothing was sent: what is wrong is the message, unless the producer has come to its end.
        if (slot.verdict->destination_down && !is_broken())
            slot.verdict = Verdict::retry(slot.verdict->error);
    }
    return true;
}

void Producer::report(rd_kafka_t* /*handle*/, const rd_kafka_message_t* message, void* /*opaque*/) {
    Slot& slot = *static_cast<Slot*>(message->_private);
    slot.take(message->err);
    slot.unanswered = slot.verdict->destination_down &&
                      rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED;
    --*slot.open;
}

rd_kafka_resp_err_t Producer::listen(rd_kafka_t* handle, const rd_kafka_conf_t* /*conf*/,
                                     void* self, char* /*why*/, std::size_t /*why_size*/) {
    return rd_kafka_interceptor_add_on_response_received(handle, interceptor_name,
                                                         &Producer::note_response, self);
}

// Also called for a request whose response will not come. A delivery report does not tell why: the
// library tries again until the message's time is up, and that is all it says then.
rd_kafka_resp_err_t Producer::note_response(rd_kafka_t* /*handle*/, int /*socket*/,
                                            const char* /*broker*/, std::int32_t /*broker_id*/,
                                            std::int16_t request, std::int16_t /*version*/,
                                            std::int32_t /*correlation*/, std::size_t /*size*/,
                                            std::int64_t /*round_trip*/, rd_kafka_resp_err_t error,
                                            void* self) {
    if (request == produce_request)
        static_cast<Producer*>(self)->last_was_cut_off_ = error == RD_KAFKA_RESP_ERR__TRANSPORT;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

// Called by the thread that polls. That all brokers are down says less than why the last one is.
void Producer::note_error(rd_kafka_t* /*handle*/, int error, const char* reason, void* self) {
    if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || reason == nullptr) return;
    const std::string_view words = reason;
    // How long it took differs each time, and would make another error of it.
    static_cast<Producer*>(self)->last_error_ = words.substr(0, words.find(" (after "));
}

// The library's own words for a broker that cannot be reached do not tell why.
std::string Producer::why(rd_kafka_resp_err_t error) const {
    const bool vague =
        error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__TIMED_OUT ||
        error == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
    return fmt::format("{}: {}{}", options_.origin(), rd_kafka_err2str(error),
                       vague && !last_error_.empty() ? fmt::format(" ({})", last_error_) : "");
}

Verdict Producer::verdict_of(rd_kafka_resp_err_t error, const std::string& topic) const {
    const std::string why = this->why(error);
    switch (error) {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
            return Verdict::done();
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
        case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
        case RD_KAFKA_RESP_ERR_INVALID_MSG:
        case RD_KAFKA_RESP_ERR_INVALID_RECORD:
        case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
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
            return blames_the_batch(error) ? Verdict::retry(why) : Verdict::down(why);
    }
}

}  // namespace postroom::sink_kafka
