// What the sink sends, as a receiver understands it that is not ours: the npm package cloudevents.
#include <gmock/gmock.h>

#include <filesystem>
#include <optional>
#include <stdexcept>

#include "postroom/sink.hpp"
#include "sinks/messages.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

class CloudEventsPeer : public testing::TestWithParam<const char*> {
protected:
    std::unique_ptr<Sink> sink() const {
        return make_sink({.name = "hook",
                          .type = "http",
                          .settings = {{"url", "http://127.0.0.1:" + port + "/"},
                                       {"allow_networks", "127.0.0.1"},
                                       {"source", "/shop"},
                                       {"format", GetParam()}}});
    }
    // What the peer made of the message, as JSON.
    std::string understood(const Message& message) {
        const Verdict verdict = send_one(*sink(), message);
        const std::string said = next();
        EXPECT_EQ(verdict.outcome, Outcome::ack) << verdict.error << said;
        return said;
    }

private:
    static std::string script() {
        const std::filesystem::path path =
            std::filesystem::path(POSTROOM_CLOUDEVENTS_PEER) / "peer.js";
        if (!std::filesystem::exists(path))
            throw std::runtime_error(path.string() +
                                     " is missing; run the test cloudevents_peer_install first");
        return path.string();
    }
    std::string next() {
        const std::optional<std::string> line = process.read_line(60s);
        if (!line) throw std::runtime_error("the peer says nothing; is node installed?");
        return *line;
    }

    ChildProcess process{{.program = "/usr/bin/node", .arguments = {script()}}};

protected:
    const std::string port = next();
};

TEST_P(CloudEventsPeer, UnderstandsAttributesAndData) {
    Message message = keyed_message("m1", "k1");
    message.payload = R"({"order": 17})";
    message.aggregate_id = "17";
    message.correlation_id = "c1";
    EXPECT_THAT(
        understood(message),
        AllOf(HasSubstr(R"("specversion":"1.0")"), HasSubstr(R"("id":"m1")"),
              HasSubstr(R"("source":"/shop")"), HasSubstr(R"("type":"order.placed")"),
              HasSubstr(R"("time":"2026-01-31T00:00:00.000)"), HasSubstr(R"("subject":"17")"),
              HasSubstr(R"("partitionkey":"k1")"), HasSubstr(R"("correlationid":"c1")"),
              HasSubstr(R"("datacontenttype":"application/json")"),
              HasSubstr(R"("data":{"order":17})"), Not(HasSubstr("refused"))));
}

TEST_P(CloudEventsPeer, UnderstandsText) {
    Message message = message_with("m1", "a \"b\" \xC3\xA9");
    message.content_type = "text/plain";
    EXPECT_THAT(understood(message), HasSubstr("\"data\":\"a \\\"b\\\" \xC3\xA9\""));
}

INSTANTIATE_TEST_SUITE_P(Http, CloudEventsPeer, testing::Values("structured", "binary"),
                         [](const auto& mode) { return std::string(mode.param); });

}  // namespace
}  // namespace postroom::test
