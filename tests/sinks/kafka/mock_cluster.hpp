// MockCluster: librdkafka's own mock of a Kafka cluster, with real connections on 127.0.0.1, and a
// consumer that reads it. It is a mock: what it shows is our use of the library, not Kafka itself.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

namespace postroom::test {

struct KafkaRecord {
    std::optional<std::string> key{};
    std::string value{};
    std::map<std::string, std::string> headers{};
    int partition = 0;
};

class MockCluster {
public:
    static constexpr int partitions = 4;

    MockCluster();
    ~MockCluster();
    MockCluster(const MockCluster&) = delete;
    MockCluster& operator=(const MockCluster&) = delete;

    std::string brokers() const;
    void create_topic(const std::string& name);
    // Whoever asks for the topic is told this.
    void fail_topic(const std::string& name, rd_kafka_resp_err_t error);
    // No partition of the topic has a leader.
    void orphan_topic(const std::string& name);
    // All its connections end, and none is accepted until it is up again.
    void set_down();
    void set_up();
    // The next `count` produce requests are answered with it.
    void fail_produce(rd_kafka_resp_err_t error, int count);
    // Every produce request ends its connection, until it is whole again.
    void break_produce();
    void mend_produce();
    // Every answer comes this much later.
    void answer_late(std::chrono::milliseconds late);

    // All records of the topic, partition by partition.
    std::vector<KafkaRecord> read(const std::string& topic);

private:
    using Handle = std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)>;

    Handle consumer() const;

    Handle host_;  // its threads run the mock
    rd_kafka_mock_cluster_t* cluster_ = nullptr;
};

}  // namespace postroom::test
