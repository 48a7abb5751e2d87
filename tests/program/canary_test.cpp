// Nothing secret is told: payloads, headers, passwords, keys and tokens are canaries here, and
// whatever the program says and notes in a day's work is searched for them (OBX-106, IBX-127).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/base64.hpp"
#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "postroom/inbox.hpp"
#include "postroom/open_store.hpp"
#include "program/e2e_peers.hpp"
#include "program/program_on.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::canary_test {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds patience{90};
const std::string payload = R"({"card":"canary-of-the-payload"})";
const std::string signing_key = base::base64_encode("canary-of-the-signing-key-012345");
const std::string token = "canary-of-the-token";

class CanaryOn : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        canaries_ = {"canary", signing_key, base::hex_encode("canary"),
                     base::base64_encode(payload).substr(0, 40)};
        if (on("postgres")) {
            std::string with_password = url();
            with_password.insert(with_password.find('@'), ":canary-of-the-database");
            folder.set("POSTROOM_URL", with_password);
        } else if (on("mariadb")) {
            const std::string given = url();
            const std::size_t from = given.find(':', given.find("//")) + 1;
            canaries_.push_back(given.substr(from, given.find('@') - from));
            canaries_.emplace_back("p@rcel");
        }
        folder.set("POSTROOM_TOKEN", token);
        folder.write("postroom.toml", settings());
    }

    std::string settings() const {
        return fmt::format(R"([relay]
unroutable = "dead"
retry_base = "10ms"
max_attempts = 2
[log]
level = "debug"
[admin]
listen = "127.0.0.1:0"
[tokens.ops]
role = "operator"
sha256 = "{}"
[sinks.file]
type = "stdout"
path = "delivered.jsonl"
[sinks.hook]
type = "http"
url = "http://127.0.0.1:{}/"
allow_networks = ["127.0.0.1"]
signing_keys = ["whsec_{}"]
authorization = "Bearer canary-of-the-bearer"
headers = "X-Key: canary-of-the-header"
[sinks.queue]
type = "rabbitmq"
url = "amqp://guest:canary-of-the-broker@127.0.0.1:1/%2f"
[[routes]]
topic = "good.*"
sink = "file"
[[routes]]
topic = "bad.*"
sink = "hook"
[[routes]]
topic = "down.*"
sink = "queue"
)",
                           base::hex_encode(base::sha256(token)), peer_.port(), signing_key);
    }

    Ran tell(const std::vector<std::string>& words, const std::string& input = "") {
        Ran ran = folder.run(words, input);
        said_ +=
            fmt::format("\n== {}, exit code {}\n{}\n{}", words.front(), ran.code, ran.out, ran.err);
        return ran;
    }

    std::string table(const std::string& name) const {
        return on("postgres") ? "infra." + name : name;
    }

    // What the database refuses comes back with its words.
    void forbid_a_topic() const {
        if (on("sqlite")) {
            sql("CREATE TRIGGER forbidden BEFORE INSERT ON outbox_live WHEN NEW.topic = "
                "'forbidden' BEGIN SELECT RAISE(ABORT, 'forbidden topic'); END");
            return;
        }
        sql("ALTER TABLE " + table("outbox_live") +
            " ADD CONSTRAINT forbidden_topic CHECK (topic <> 'forbidden')");
    }

    void write_messages() {
        for (const std::string topic : {"good.one", "bad.one", "down.one", "lost.one"})
            tell({"enqueue", topic, "--payload-file", "-", "--header", "card=canary-header"},
                 payload);
        forbid_a_topic();
        const Ran forbidden = tell({"enqueue", "forbidden", "--payload-file", "-"}, payload);
        EXPECT_NE(forbidden.code, 0);
        EXPECT_THAT(forbidden.err, HasSubstr("forbidden"));
        EXPECT_NE(tell({"enqueue", "", "--payload-file", "-"}, payload).code, 0);
        EXPECT_NE(
            tell({"enqueue", "large", "--payload-file", "-"}, payload + std::string(1 << 20, 'x'))
                .code,
            0);
        tell({"enqueue", "good.two", "--payload-file", "-"}, payload.substr(1));
        const std::string line = R"({"topic":"good.three","payload":)" + payload;
        EXPECT_NE(tell({"enqueue", "--jsonl"}, line).code, 0);
        EXPECT_NE(tell({"enqueue", "--jsonl"}, line + R"(,"priority":"high"})").code, 0);
        receive_messages();
    }

    void receive_messages() const {
        const auto store = open_store(url());
        const Inbox inbox(*store, {.queue = {.observer = &silence()}});
        for (const std::string id : {"1", "2"})
            inbox.enqueue({.topic = "t", .source = "s", .message_id = id, .payload = payload});
        const std::vector<Message> claimed =
            inbox.claim(OwnerToken::generate(), std::chrono::minutes{1}, 2);
        inbox.abandon(claimed.at(0), "busy");
        inbox.ack(claimed.at(1));
    }

    // What an operator does to all of them, to one, and to what is not there.
    void operate(const std::vector<std::string>& where) {
        const std::string dead =
            text_member(folder.good({"list", "--state", "dead", "--json"}), "id");
        const std::vector<std::vector<std::string>> calls{
            {"status"},
            {"status", "--json"},
            {"workers"},
            {"workers", "--json"},
            {"list", "--state", "all", "--wide"},
            {"list", "--state", "all", "--json"},
            {"list", "--queue", "inbox", "--state", "all", "--json"},
            {"show", dead},
            {"show", dead, "--json"},
            {"show", "nobody"},
            {"explain", dead},
            {"pause", "good.*"},
            {"resume", "good.*"},
            {"retry-now", "--all"},
            {"redrive", dead}};
        for (std::vector<std::string> words : calls) {
            words.insert(words.end(), where.begin(), where.end());
            tell(words);
        }
    }

    void look_around() {
        for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
                 {"doctor"},
                 {"config", "show"},
                 {"config", "check"},
                 {"migrate", "status"},
                 {"healthcheck", "--url", admin_},
                 {"purge", "--yes"},
                 {"status", "--url", "postgresql://u:canary-of-nowhere@127.0.0.1:1/x"},
                 {"status", "--url", "mariadb://u:canary-of-nowhere@127.0.0.1:1/x"},
                 {"status", "--url", "postgresql://u:canary-of-nowhere@:x/"},
                 {"relay", "--set", "sinks.queue.url=amqp://u:canary@127.0.0.1:x/"},
                 {"config", "check", "--set", "sinks.hook.signing_keys=canary"}})
            tell(words);
    }

    void ask_the_server() {
        const std::string script = R"(
import sys, urllib.error, urllib.request
api = "overview messages messages?queue=inbox messages/nobody dead-letters operations topics destinations workers stores " \
      "stores/findings audit outbox inbox metrics"
for token in sys.argv[2:]:
    for path in ["/metrics", "/health", "/readyz"] + ["/api/" + name for name in api.split()]:
        request = urllib.request.Request(sys.argv[1] + path, headers={"Authorization": "Bearer " + token})
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as refused:
            answer = refused
        print(path, answer.status, answer.headers, answer.read().decode())
)";
        said_ +=
            good_tool("/usr/bin/python3", {"-c", script, admin_, token, "canary-of-a-wrong-token"});
    }

    void expect_nothing_secret() {
        for (const std::string& canary : canaries_) {
            std::size_t at = said_.find(canary);
            if (at == std::string::npos) continue;
            at = at < 200 ? 0 : at - 200;
            ADD_FAILURE() << canary << " was told: " << said_.substr(at, 400);
        }
    }

    // Everything that the database was told of failures, of what was done and by whom.
    void read_the_notes() {
        for (const std::string& query :
             {"SELECT last_error, dead_reason, attempts FROM " + table("outbox_waiting"),
              "SELECT last_error, attempts FROM " + table("inbox_waiting"),
              "SELECT last_error FROM " + table("outbox"),
              "SELECT last_error FROM " + table("inbox"),
              "SELECT who, what, target, outcome FROM " + table("outbox_audit"),
              "SELECT report FROM " + table("outbox_worker")})
            for (const auto& row : sql(query))
                for (const auto& value : row) said_ += value.value_or("") + "\n";
    }

    void serve() {
        ChildProcess relay = folder.start({"relay"});
        EXPECT_TRUE(wait_for_log("ADMIN_READY"));
        admin_ = text_member(folder.read("err"), "url");
        EXPECT_TRUE(wait_for_log("OUTBOX_WORKER_DEAD", 2)) << folder.read("err");
        EXPECT_TRUE(wait_for_log("CIRCUIT_OPEN")) << folder.read("err");
        ask_the_server();
        operate({"--remote", admin_});
        operate({});
        look_around();
        EXPECT_TRUE(stop(relay));
        said_ += folder.read("err") + relay.read_all(patience);
    }

    const HttpPeer peer_{501};
    std::vector<std::string> canaries_;
    std::string said_;
    std::string admin_ = "http://127.0.0.1:1";
};

TEST_P(CanaryOn, OBX_106_IBX_127_NothingSecretIsToldOrNoted) {
    folder.good({"migrate", "up"});
    write_messages();
    serve();
    read_the_notes();
    expect_nothing_secret();
    // They were there, and whoever asks for a payload gets it.
    EXPECT_THAT(folder.read("delivered.jsonl"), HasSubstr("canary-of-the-payload"));
    const std::string bad =
        text_member(folder.good({"list", "--topic", "bad.one", "--state", "all", "--json"}), "id");
    EXPECT_THAT(folder.good({"show", bad, "--payload"}), HasSubstr("canary-of-the-payload"));
}

POSTROOM_ON_ALL_DATABASES(CanaryOn);

}  // namespace
}  // namespace postroom::test::canary_test
