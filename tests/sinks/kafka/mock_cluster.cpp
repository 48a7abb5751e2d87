#include "sinks/kafka/mock_cluster.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace postroom::test {

namespace {

constexpr int broker = 1;
constexpr std::int16_t produce_request = 0;

rd_kafka_t* new_handle(rd_kafka_type_t type, const std::map<std::string, std::string>& settings) {
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    std::array<char, 512> why{};
    for (const auto& [name, value] : settings) {
        if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size()) !=
            RD_KAFKA_CONF_OK)
            throw std::runtime_error(why.data());
    }
    rd_kafka_conf_set_log_cb(conf, nullptr);
    rd_kafka_t* const handle = rd_kafka_new(type, conf, why.data(), why.size());
    if (handle == nullptr) throw std::runtime_error(why.data());
    return handle;
}

KafkaRecord to_record(const rd_kafka_message_t& message) {
    KafkaRecord record{.value = {static_cast<const char*>(message.payload), message.len},
                       .partition = message.partition};
    if (message.key != nullptr)
        record.key.emplace(static_cast<const char*>(message.key), message.key_len);
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i)
        record.headers[name] = std::string(static_cast<const char*>(value), size);
    return record;
}

}  // namespace

MockCluster::MockCluster()
    : host_(new_handle(RD_KAFKA_PRODUCER, {}), &rd_kafka_destroy),
      cluster_(rd_kafka_mock_cluster_new(host_.get(), 1)) {
    if (cluster_ == nullptr) throw std::runtime_error("no mock cluster");
}

MockCluster::~MockCluster() { rd_kafka_mock_cluster_destroy(cluster_); }

std::string MockCluster::brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }

void MockCluster::create_topic(const std::string& name) {
    rd_kafka_mock_topic_create(cluster_, name.c_str(), partitions, 1);
}

void MockCluster::fail_topic(const std::string& name, rd_kafka_resp_err_t error) {
    rd_kafka_mock_topic_set_error(cluster_, name.c_str(), error);
}

void MockCluster::orphan_topic(const std::string& name) {
    for (int partition = 0; partition < partitions; ++partition)
        rd_kafka_mock_partition_set_leader(cluster_, name.c_str(), partition, -1);
}

void MockCluster::set_down() { rd_kafka_mock_broker_set_down(cluster_, broker); }

void MockCluster::set_up() { rd_kafka_mock_broker_set_up(cluster_, broker); }

void MockCluster::fail_produce(rd_kafka_resp_err_t error, int count) {
    const std::vector<rd_kafka_resp_err_t> errors(static_cast<std::size_t>(count), error);
    rd_kafka_mock_push_request_errors_array(cluster_, produce_request, errors.size(),
                                            errors.data());
}

void MockCluster::break_produce() { fail_produce(RD_KAFKA_RESP_ERR__TRANSPORT, 10'000); }

void MockCluster::mend_produce() { rd_kafka_mock_clear_request_errors(cluster_, produce_request); }

void MockCluster::answer_late(std::chrono::milliseconds late) {
    rd_kafka_mock_broker_set_rtt(cluster_, broker, static_cast<int>(late.count()));
}

MockCluster::Handle MockCluster::consumer() const {
    return {new_handle(RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers()},
                                           {"group.id", "test"},
                                           {"enable.partition.eof", "true"},
                                           {"auto.offset.reset", "earliest"}}),
            &rd_kafka_destroy};
}

// One consumer for all partitions: to end one takes a second.
std::vector<KafkaRecord> MockCluster::read(const std::string& topic) {
    const Handle reader = consumer();
    rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(partitions);
    for (int partition = 0; partition < partitions; ++partition)
        rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset =
            RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(reader.get(), list);
    rd_kafka_topic_partition_list_destroy(list);
    std::vector<KafkaRecord> records;
    for (int ended = 0; ended < partitions;) {
        rd_kafka_message_t* const message = rd_kafka_consumer_poll(reader.get(), 30'000);
        if (message == nullptr) throw std::runtime_error("the mock cluster is silent");
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ++ended;
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) records.push_back(to_record(*message));
        rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(reader.get());
    std::ranges::stable_sort(records, {}, &KafkaRecord::partition);
    return records;
}

}  // namespace postroom::test
