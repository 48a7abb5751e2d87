#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "postroom/sink.hpp"
#include "sinks/kafka/mock_cluster.hpp"
#include "sinks/messages.hpp"
#include "sinks/outage.hpp"
#include "sinks/refusal.hpp"
#include "sinks/tls_peer.hpp"
#include "support/matchers.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* topic = "order.placed";

using Settings = std::map<std::string, std::string>;

// `given` come before what a test usually has.
Settings settings_for(const MockCluster& cluster, Settings given = {}) {
    given.merge(
        Settings{{"brokers", cluster.brokers()}, {"tls", "false"}, {"delivery_timeout", "30s"}});
    return given;
}

std::unique_ptr<Sink> make(Settings settings) {
    return make_sink({.name = "kafka", .type = "kafka", .settings = std::move(settings)});
}

// All of them, sooner or later: a busy machine may take longer than a short `delivery_timeout`.
bool are_taken(Sink& sink, const std::vector<Message>& messages) {
    const auto all_are = [&] {
        const std::vector<Verdict> verdicts = send_all(sink, messages);
        return std::ranges::all_of(
            verdicts, [](const Verdict& verdict) { return verdict.outcome == Outcome::ack; });
    };
    return wait_until(all_are, 60s);
}

TEST(KafkaSink, AMessageArrivesAsACloudEventWithItsKey) {
    MockCluster cluster;
    cluster.create_topic(topic);
    const auto sink = make(settings_for(cluster));
    Message message = keyed_message("m1", "k1");
    message.payload = std::string("a\0b", 3);
    message.headers = {{"traceparent", "00-1"}};
    message.aggregate_id = "17";
    EXPECT_EQ(send_one(*sink, message).outcome, Outcome::ack);
    EXPECT_EQ(send_one(*sink, message_with("m2", "")).outcome, Outcome::ack);
    const std::vector<KafkaRecord> records = cluster.read(topic);
    ASSERT_THAT(records, SizeIs(2));
    const KafkaRecord& record = records[records[0].key ? 0 : 1];
    EXPECT_EQ(record.key, "k1");
    EXPECT_EQ(record.value, message.payload);
    EXPECT_EQ(record.headers,
              (std::map<std::string, std::string>{{"ce_specversion", "1.0"},
                                                  {"ce_id", "m1"},
                                                  {"ce_source", "/postroom"},
                                                  {"ce_type", "order.placed"},
                                                  {"ce_time", "2026-01-31T00:00:00.000000Z"},
                                                  {"ce_subject", "17"},
                                                  {"content-type", "application/json"},
                                                  {"traceparent", "00-1"}}));
    EXPECT_EQ(records[records[0].key ? 1 : 0].key, std::nullopt);
}

TEST(KafkaSink, AProbeFindsTheBrokers) {
    MockCluster cluster;
    EXPECT_TRUE(make(settings_for(cluster))->probe());
    const auto away =
        make({{"brokers", "127.0.0.1:1"}, {"tls", "false"}, {"delivery_timeout", "2s"}});
    EXPECT_THROW(away->probe(), DestinationDown);
    const Verdict verdict = send_one(*away, message_with("a"));
    EXPECT_TRUE(verdict.destination_down);
    EXPECT_THAT(verdict.error, testing::AllOf(testing::HasSubstr("Connection refused"),
                                              testing::Not(testing::HasSubstr("after"))));
}

TEST(KafkaSink, AKeyKeepsToItsPartition) {
    MockCluster cluster;
    cluster.create_topic("all");
    const auto sink = make(settings_for(cluster, {{"topic", "all"}}));
    std::vector<Message> messages;
    for (int i = 0; i < 60; ++i)
        messages.push_back(keyed_message(fmt::format("{:02}", i), fmt::format("k{}", i % 6)));
    for (const Verdict& verdict : send_all(*sink, messages))
        EXPECT_EQ(verdict.outcome, Outcome::ack);
    std::map<std::string, int> partition_of;
    std::map<std::string, std::string> last;
    for (const KafkaRecord& record : cluster.read("all")) {
        EXPECT_EQ(partition_of.try_emplace(*record.key, record.partition).first->second,
                  record.partition);
        EXPECT_LT(last[*record.key], record.headers.at("ce_id"));
        last[*record.key] = record.headers.at("ce_id");
    }
    EXPECT_THAT(last, SizeIs(6));
}

TEST(KafkaSink, ATransientErrorOfTheBrokerIsNotNoticed) {
    MockCluster cluster;
    cluster.create_topic(topic);
    const auto sink = make(settings_for(cluster));
    cluster.fail_produce(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, 2);
    EXPECT_EQ(send_one(*sink, message_with("m1")).outcome, Outcome::ack);
    EXPECT_THAT(cluster.read(topic), SizeIs(1));
}

TEST(KafkaSink, AMessageThatIsTooLargeIsDeadAndTheOthersAreNot) {
    MockCluster cluster;
    cluster.create_topic(topic);
    const auto sink = make(settings_for(cluster, {{"message_bytes_max", "10000"}}));
    const std::vector<Verdict> verdicts = send_all(
        *sink, {message_with("a"), message_with("b", std::string(20'000, 'x')), message_with("c")});
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[1].outcome, Outcome::fail);
    EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
}

TEST(KafkaSink, WhatABrokerRefusesForItsSizeIsTriedAlone) {
    MockCluster cluster;
    cluster.create_topic(topic);
    const auto sink = make(settings_for(cluster));
    // At most one request for each partition carries the batch; later ones are for the single ones.
    cluster.fail_produce(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, 1);
    for (const Verdict& verdict :
         send_all(*sink, {message_with("a"), message_with("b"), message_with("c")}))
        EXPECT_EQ(verdict.outcome, Outcome::ack);
}

TEST(KafkaSink, WhatABrokerFindsInvalidInABatchIsTriedAlone) {
    for (const rd_kafka_resp_err_t error :
         {RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_MSG}) {
        MockCluster cluster;
        cluster.create_topic(topic);
        const auto sink = make(settings_for(cluster));
        // At most one request for each partition carries both; later ones carry one each.
        cluster.fail_produce(error, 1);
        for (const Verdict& verdict : send_all(*sink, {message_with("a"), message_with("b")}))
            EXPECT_EQ(verdict.outcome, Outcome::ack) << verdict.error;
        // Alone and refused again it is the message's own fault.
        cluster.fail_produce(error, 1);
        const Verdict alone = send_one(*sink, message_with("c"));
        EXPECT_EQ(alone.outcome, Outcome::fail);
        EXPECT_FALSE(alone.destination_down);
    }
}

TEST(KafkaSink, WhatABrokerRefusesOfOneMessageIsNoOutage) {
    for (const rd_kafka_resp_err_t error :
         {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
          RD_KAFKA_RESP_ERR_INVALID_REQUEST}) {
        MockCluster cluster;
        cluster.create_topic(topic);
        const auto sink = make(settings_for(cluster));
        cluster.fail_produce(error, 1);
        const Verdict alone = send_one(*sink, message_with("a"));
        EXPECT_FALSE(alone.destination_down) << alone.error;
        EXPECT_EQ(alone.outcome,
                  error == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP ? Outcome::fail : Outcome::abandon);
        cluster.fail_produce(error, 1);
        for (const Verdict& verdict : send_all(*sink, {message_with("b"), message_with("c")}))
            EXPECT_EQ(verdict.outcome, Outcome::ack) << verdict.error;
    }
}

// Goal: a message that ends its connection every time is no endless outage of the others.
// Method: the mock ends connections while that message is sent, and does not while another one is.
TEST(KafkaSink, AMessageThatBreaksItsConnectionCostsAttemptsOfItsOwn) {
    MockCluster cluster;
    cluster.create_topic(topic);
    const auto sink = make(settings_for(cluster, {{"delivery_timeout", "3s"}}));
    ASSERT_TRUE(are_taken(*sink, {message_with("first")}));
    cluster.break_produce();
    EXPECT_TRUE(send_one(*sink, message_with("bad")).destination_down) << "it may be an outage";
    Verdict again;
    // A time in which it was never sent, because the machine stood still, counts for nothing.
    const auto costs_an_attempt = [&] {
        cluster.mend_produce();
        if (!are_taken(*sink, {message_with("good")})) return false;
        cluster.break_produce();
        again = send_one(*sink, message_with("bad"));
        return again.outcome == Outcome::abandon;
    };
    EXPECT_TRUE(wait_until(costs_an_attempt, 60s)) << again.error;
    EXPECT_FALSE(again.destination_down);
    EXPECT_THAT(again.error, HasSubstr("again; other messages are answered"));
    cluster.mend_produce();
    EXPECT_TRUE(are_taken(*sink, {message_with("bad"), message_with("a"), message_with("b")}));
}

// Goal: a partition that hangs costs its messages no attempts, however many others are
// acknowledged in between.
// Method: the mock appends and finds too few replicas, or does not answer in time, while that
// message is sent, and answers another one.
TEST(KafkaSink, AMessageThatIsNotAcknowledgedInTimeCostsNoAttemptWhileOthersAre) {
    const auto expect_no_attempt = [](MockCluster& cluster, const std::function<void()>& hang,
                                      const std::function<void()>& mend) {
        cluster.create_topic(topic);
        const auto sink = make(settings_for(cluster, {{"delivery_timeout", "2s"}}));
        for (int round = 0; round < 3; ++round) {
            ASSERT_TRUE(are_taken(*sink, {message_with(fmt::format("good{}", round))}));
            hang();
            const Verdict hung = send_one(*sink, message_with("hung"));
            EXPECT_EQ(hung.outcome, Outcome::release) << hung.error;
            EXPECT_TRUE(hung.destination_down);
            mend();
        }
    };
    MockCluster few;
    expect_no_attempt(
        few, [&] { few.fail_produce(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, 10'000); },
        [&] { few.mend_produce(); });
    MockCluster late;
    expect_no_attempt(
        late, [&] { late.answer_late(10s); }, [&] { late.answer_late(0s); });
}

TEST(KafkaSink, HeadersThatNoMessageHoldsMakeItDeadAndHoldUpNobody) {
    MockCluster cluster;
    cluster.create_topic(topic);
    const auto sink = make(settings_for(cluster));
    std::vector<Message> messages{message_with("a"), message_with("b"), message_with("c")};
    messages[1].headers = {{"large", std::string(2'000'000, 'x')}};
    const std::vector<Verdict> verdicts = send_all(*sink, messages);
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[1].outcome, Outcome::fail) << verdicts[1].error;
    EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
}

// Goal: a certificate that is trusted but for another host is not accepted.
// Method: a TLS server on localhost shows one, and one for localhost.
TEST(KafkaSink, TheNameInTheCertificateIsVerified) {
    for (const auto& [name, outcome] :
         {std::pair{"localhost", "secure"}, std::pair{"other.example", "refused"}}) {
        const Certificate certificate(name);
        TlsPeer peer(certificate);
        const auto sink = make({{"brokers", "localhost:" + peer.port()},
                                {"ca_file", certificate.certificate_file()},
                                {"delivery_timeout", "3s"}});
        std::jthread sender([&] { static_cast<void>(send_one(*sink, message_with("m1"))); });
        EXPECT_EQ(peer.next(), outcome) << name;
    }
}

TEST(KafkaSink, AnOutageEndsTheTrialOfSingleMessages) {
    constexpr int count = 40;
    MockCluster cluster;
    cluster.create_topic(topic);
    const auto sink = make(settings_for(cluster, {{"delivery_timeout", "2s"}}));
    // The batch is refused; the first one that goes alone is never acknowledged.
    cluster.fail_produce(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, 1);
    cluster.fail_produce(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, 10'000);
    std::vector<Message> messages;
    for (int i = 0; i < count; ++i) messages.push_back(message_with(fmt::format("m{}", i)));
    const auto begun = std::chrono::steady_clock::now();
    for (const Verdict& verdict : send_all(*sink, messages)) {
        EXPECT_EQ(verdict.outcome, Outcome::release);
        EXPECT_TRUE(verdict.destination_down);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begun, count * 2s / 2) << "each had its turn";
}

TEST(KafkaSink, AnUnknownTopicIsTheMessagesOwnFault) {
    MockCluster cluster;
    cluster.create_topic(topic);
    cluster.fail_topic("no.such.topic", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    const auto sink = make(settings_for(cluster));
    Message lost = message_with("b");
    lost.topic = "no.such.topic";
    const std::vector<Verdict> verdicts =
        send_all(*sink, {message_with("a"), lost, message_with("c")});
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[1].outcome, Outcome::abandon);
    EXPECT_FALSE(verdicts[1].destination_down) << "others must not wait for it";
    EXPECT_THAT(verdicts[1].error, HasSubstr("the cluster has no topic 'no.such.topic'"));
    EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
}

TEST(KafkaSink, ATopicWithoutLeadersIsNoOutageOfTheOthers) {
    MockCluster cluster;
    cluster.create_topic(topic);
    cluster.create_topic("orphan");
    cluster.orphan_topic("orphan");
    const auto sink = make(settings_for(cluster, {{"delivery_timeout", "10s"}}));
    Message waiting = message_with("b");
    waiting.topic = "orphan";
    const std::vector<Verdict> verdicts = send_all(*sink, {message_with("a"), waiting});
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[1].outcome, Outcome::release) << "it costs no attempt";
    EXPECT_FALSE(verdicts[1].destination_down);
}

TEST(KafkaSink, ATopicThatKafkaCannotHaveMakesTheMessageDead) {
    MockCluster cluster;
    const auto sink = make(settings_for(cluster));
    Message message = message_with("m1");
    message.topic = "order placed";
    EXPECT_EQ(send_one(*sink, message).outcome, Outcome::fail);
}

TEST(KafkaSink, ADestinationThatIsAwayCostsNoAttempt) {
    const auto sink =
        make({{"brokers", "127.0.0.1:1"}, {"tls", "false"}, {"delivery_timeout", "200ms"}});
    const Verdict verdict = send_one(*sink, message_with("m1"));
    EXPECT_EQ(verdict.outcome, Outcome::release);
    EXPECT_TRUE(verdict.destination_down);
    EXPECT_THAT(verdict.error, HasSubstr("kafka://127.0.0.1:1"));
}

TEST(KafkaSink, AStopReleasesWhatIsUnderWay) {
    const auto sink =
        make({{"brokers", "127.0.0.1:1"}, {"tls", "false"}, {"delivery_timeout", "10m"}});
    std::stop_source stop;
    std::jthread stopper([&stop] {
        std::this_thread::sleep_for(100ms);
        stop.request_stop();
    });
    const Verdict verdict = send_all(*sink, {message_with("m1")}, stop.get_token()).at(0);
    EXPECT_EQ(verdict.outcome, Outcome::release);
    EXPECT_FALSE(verdict.destination_down);
}

std::string refusal(const Settings& settings) {
    return refusal_of([&] { make(settings); });
}

TEST(KafkaSink, BadSettingsAreRefusedWithoutTheirSecrets) {
    for (const char* brokers : {"example.com:9092", "127.anything.example:9092", "h:1,127.0.0.1:1"})
        EXPECT_THAT(refusal({{"brokers", brokers}, {"tls", "false"}}), HasSubstr("tls|"));
    EXPECT_EQ(refusal({{"brokers", "127.0.0.1:1,[::1]:1,localhost:1"}, {"tls", "false"}}), "");
    EXPECT_EQ(
        refusal({{"brokers", "example.com:9092"}, {"tls", "false"}, {"allow_plaintext", "true"}}),
        "");
    for (const char* brokers : {"", "host", "host:", ":1", "u:p@host:1", "kafka://host:1", "h:x"})
        EXPECT_THAT(refusal({{"brokers", brokers}}), HasSubstr("brokers|")) << brokers;
    EXPECT_THAT(refusal({{"brokers", "h:1"}, {"password", "hunter2"}}),
                AllOf(HasSubstr("sasl_mechanism|"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(refusal({{"brokers", "h:1"}, {"password", "hunter2"}, {"sasl_mechanism", "PLAIN"}}),
                AllOf(HasSubstr("username|"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(refusal({{"brokers", "h:1"}, {"ca_file", "/no/such/file"}}),
                HasSubstr("librdkafka refuses"));
}

// Counts what the cluster has acknowledged: asking the mock for its offsets holds up the senders.
class CountingSink final : public Sink {
public:
    CountingSink(std::unique_ptr<Sink> sink, std::atomic<std::size_t>& count)
        : sink_(std::move(sink)), count_(count) {}
    std::vector<Verdict> send(std::span<const Message> messages, std::stop_token stop) override {
        std::vector<Verdict> verdicts = sink_->send(messages, std::move(stop));
        for (const Verdict& verdict : verdicts) {
            if (verdict.outcome == Outcome::ack) ++count_;
        }
        return verdicts;
    }
    std::string destination() const override { return sink_->destination(); }

private:
    const std::unique_ptr<Sink> sink_;
    std::atomic<std::size_t>& count_;
};

// Goal: an outage of the cluster loses nothing and costs no message an attempt.
// Method: the mock broker ends all connections under load and takes none until it is up again.
TEST(KafkaSinkOutage, NothingIsLostAndNoAttemptIsSpent) {
    MockCluster cluster;
    cluster.create_topic(topic);
    std::atomic<std::size_t> acknowledged = 0;
    const auto read = [&] {
        std::vector<Received> all;
        for (const KafkaRecord& record : cluster.read(topic))
            all.push_back({.message_id = record.headers.at("ce_id"),
                           .key = record.key.value_or(""),
                           .payload = record.value});
        return all;
    };
    const Settings settings = settings_for(cluster, {{"delivery_timeout", "2s"}});
    expect_outage_is_survived(std::make_unique<CountingSink>(make(settings), acknowledged),
                              {.kill = [&] { cluster.set_down(); },
                               .restart = [&] { cluster.set_up(); },
                               .received_count = [&] { return acknowledged.load(); },
                               .received = read});
}

}  // namespace
}  // namespace postroom::test
