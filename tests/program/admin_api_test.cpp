// The admin API of a running relay: as its document says, for whom it says, and whatever clients
// do. The checks are programs of their own, in tests/program/admin_api, by libraries that are not
// ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <csignal>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "program/e2e_peers.hpp"
#include "program/program_on.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::admin_api_test {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds patience{90};
constexpr std::array roles{"viewer", "operator", "payload-viewer", "admin"};

std::string token_of(const std::string& role) { return "the token of " + role; }

std::string token_settings() {
    std::string text;
    for (const std::string role : roles)
        text += fmt::format("[tokens.{}]\nrole = \"{}\"\nsha256 = \"{}\"\n", role, role,
                            base::hex_encode(base::sha256(token_of(role))));
    return text;
}

class AdminApiNode : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        folder.write("postroom.toml", R"([relay]
unroutable = "dead"
[admin]
listen = "127.0.0.1:0"
requests_per_second = 100000
wrong_tokens_per_minute = 100000
connections_max = 64
request_timeout = "1s"
[health]
failed_percent_unhealthy = 0
[sinks.file]
type = "stdout"
path = "delivered.jsonl"
[[routes]]
topic = "good.*"
sink = "file"
)" + token_settings());
        folder.good({"migrate", "up"});
    }

    void start_relay() {
        relay_.emplace(folder.start({"relay"}));
        ASSERT_TRUE(wait_for_log("ADMIN_READY")) << folder.read("err");
        url_ = text_member(folder.read("err"), "url");
    }

    void enqueue_all() const {
        std::string lines;
        for (int i = 0; i < 5; ++i)
            lines += "{\"topic\":\"good.a\",\"payload\":1}\n{\"topic\":\"good.b\",\"payload\":2}\n";
        for (int i = 0; i < 3; ++i)
            lines +=
                "{\"topic\":\"nobody.a\",\"payload_base64\":"
                "\"eyJvcmRlciI6IDkwMDcxOTkyNTQ3NDA5OTN9\","
                "\"headers\":{\"authorization\":\"Bearer s3cret\",\"colour\":\"red\"}}\n";
        lines += "{\"topic\":\"nobody.b\",\"payload\":3,\"correlation_id\":\"c1\"}";
        folder.good({"enqueue", "--jsonl"}, lines);
    }

    // Runs one of the checks.
    void expect_passes(const std::string& script) {
        std::vector<std::string> words{"ADMIN_URL=" + url_, "POSTROOM_SPEC=" POSTROOM_SOURCE_DIR
                                                            "/docs/reference/openapi.yaml"};
        for (const std::string role : roles) {
            std::string name = "TOKEN_" + role;
            for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
            words.push_back(name + "=" + token_of(role));
        }
        words.insert(words.end(), {"node", POSTROOM_ADMIN_API_PACKAGES "/" + script});
        const Ran ran = run_tool("/usr/bin/env", words);
        EXPECT_EQ(ran.code, 0) << ran.out << folder.read("err");
        std::cout << ran.out;
    }

    std::string url_;

private:
    std::optional<ChildProcess> relay_;
};

TEST_P(AdminApiNode, AnswersAsItsDocumentSays) {
    enqueue_all();
    start_relay();
    expect_passes("contract.mjs");
}

TEST_P(AdminApiNode, LetsEveryRoleDoWhatItMayAndNoMore) {
    start_relay();
    expect_passes("roles.mjs");
}

TEST_P(AdminApiNode, StreamsWhatHappensAndResumes) {
    enqueue_all();
    start_relay();
    expect_passes("stream.mjs");
}

INSTANTIATE_TEST_SUITE_P(Sqlite, AdminApiNode, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgres, AdminApiNode, testing::Values("postgres"));

class AdminAbuseNode : public AdminApiNode {};

TEST_P(AdminAbuseNode, RefusesAbuseWhileGoodClientsAreAnswered) {
    start_relay();
    expect_passes("abuse.mjs");
}

TEST_P(AdminAbuseNode, HasADocumentThatTheLinterLikes) { expect_passes("lint.mjs"); }

INSTANTIATE_TEST_SUITE_P(Sqlite, AdminAbuseNode, testing::Values("sqlite"));

}  // namespace
}  // namespace postroom::test::admin_api_test
