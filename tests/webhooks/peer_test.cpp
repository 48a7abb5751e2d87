// An implementation that is not ours, the npm package standardwebhooks, on the other side: what it
// signs we accept, what we sign it accepts, and what was changed on the way both refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <stdexcept>

#include "base/base64.hpp"
#include "support/process.hpp"
#include "webhooks/messages.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using webhooks::Authenticity;
using webhooks::Header;
using webhooks::StandardWebhooks;
using webhooks::StripeStyle;

// peer.js as a child process; see there for the requests.
class Peer {
public:
    std::vector<std::string> ask(const std::vector<std::string>& fields) {
        std::string line;
        for (const std::string& field : fields)
            line += (line.empty() ? "" : "\t") + base::base64_encode(field);
        process_.write_line(line);
        const std::optional<std::string> answer = process_.read_line(30s);
        if (!answer) throw std::runtime_error("the peer did not answer; is node installed?");
        return split(*answer);
    }

    std::string sign(const std::string& secret, const std::string& id, const std::string& seconds,
                     const std::string& text) {
        const std::vector<std::string> answer = ask({"sign", secret, id, seconds, text});
        if (answer.size() != 2 || answer[0] != "ok")
            throw std::runtime_error("the peer could not sign: " + testing::PrintToString(answer));
        return answer[1];
    }

    // True: accepted; false: refused as not genuine. Anything else the peer says is an error.
    bool accepts(const std::string& secret, const std::vector<Header>& headers,
                 const std::string& text) {
        const std::vector<std::string> answer =
            ask({"verify", secret, headers.at(0).value, headers.at(1).value, headers.at(2).value,
                 text});
        if (answer.at(0) == "ok") return true;
        if (answer.at(0) == "refused") return false;
        throw std::runtime_error("the peer failed: " + testing::PrintToString(answer));
    }

    void set_time(Instant now) {
        const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch();
        ASSERT_THAT(ask({"now", std::to_string(seconds.count())}), testing::ElementsAre("ok"));
    }

private:
    static std::filesystem::path script() {
        std::filesystem::path path = std::filesystem::path(POSTROOM_WEBHOOK_PEER) / "peer.js";
        if (!std::filesystem::exists(path))
            throw std::runtime_error(path.string() +
                                     " is missing; run the test webhook_peer_install first");
        return path;
    }

    static std::vector<std::string> split(std::string_view line) {
        std::vector<std::string> fields;
        for (std::size_t start = 0; start <= line.size();) {
            const std::size_t end = std::min(line.find('\t', start), line.size());
            fields.push_back(base::base64_decode(line.substr(start, end - start)).value());
            start = end + 1;
        }
        return fields;
    }

    ChildProcess process_{{.program = "/usr/bin/env", .arguments = {"node", script().string()}}};
};

class WebhookPeer : public testing::Test {
protected:
    void SetUp() override { peer_.set_time(clock_.now()); }

    bool we_accept(const std::vector<Header>& headers, std::string_view text) const {
        return scheme_.verify(views(headers), text).ok();
    }
    bool peer_accepts(const std::vector<Header>& headers, const std::string& text) {
        return peer_.accepts(secret_one, headers, text);
    }

    ManualClock clock_;
    StandardWebhooks scheme_{{{"one", secret_one}}, {.clock = &clock_}};
    Peer peer_;
};

const std::vector<std::string> bodies{
    body,
    R"({})",
    R"("")",
    R"(["dots.and 1704067200.5", null, true])",
    R"({"name":"Ærøskøbing","sign":"署名","emoji":"\ud83d\udcee 📮"})",
    "{\n  \"pretty\" : [ 1 , 2 ]\r\n}\n",
    '"' + std::string(100'000, 'x') + '"',
};

TEST_F(WebhookPeer, ItMakesTheFixedVectors) {
    EXPECT_EQ(peer_.sign(secret_one, message_id, timestamp, body), signature_one);
    EXPECT_EQ(peer_.sign(secret_two, message_id, timestamp, body), signature_two);
}

TEST_F(WebhookPeer, WhatItSignsWeAccept) {
    for (const std::string& text : bodies)
        EXPECT_TRUE(we_accept(
            standard_headers("msg_1", timestamp, peer_.sign(secret_one, "msg_1", timestamp, text)),
            text))
            << text.substr(0, 80);
}

TEST_F(WebhookPeer, WhatWeSignItAccepts) {
    for (const std::string& text : bodies)
        EXPECT_TRUE(peer_accepts(scheme_.sign("msg_1", text), text)) << text.substr(0, 80);
}

TEST_F(WebhookPeer, BothTakeAnyOfSeveralSignatures) {
    scheme_.add_key({"two", secret_two});
    const std::vector<Header> both = scheme_.sign("msg_1", body);
    EXPECT_TRUE(peer_.accepts(secret_one, both, body));
    EXPECT_TRUE(peer_.accepts(secret_two, both, body));
    scheme_.revoke_key("one");
    const std::vector<Header> second = scheme_.sign("msg_1", body);
    EXPECT_FALSE(peer_.accepts(secret_one, second, body));
    EXPECT_TRUE(peer_.accepts(secret_two, second, body));
    EXPECT_TRUE(we_accept(second, body));
    EXPECT_FALSE(we_accept(standard_headers(), body));
}

TEST_F(WebhookPeer, BothRefuseEveryChangedByte) {
    const std::string text = body;
    ASSERT_TRUE(we_accept(standard_headers(), text));
    ASSERT_TRUE(peer_accepts(standard_headers(), text));
    for (std::size_t i = 0; i < text.size(); ++i) {
        EXPECT_FALSE(we_accept(standard_headers(), flipped(text, i))) << i;
        EXPECT_FALSE(peer_accepts(standard_headers(), flipped(text, i))) << i;
    }
    for (std::size_t header = 0; header < 3; ++header) {
        for (std::size_t i = 0; i < standard_headers()[header].value.size(); ++i) {
            std::vector<Header> headers = standard_headers();
            headers[header].value = flipped(headers[header].value, i);
            EXPECT_FALSE(we_accept(headers, text)) << headers[header].name << ' ' << i;
            EXPECT_FALSE(peer_accepts(headers, text)) << headers[header].name << ' ' << i;
        }
    }
}

TEST_F(WebhookPeer, BothRefuseTheSameGarbage) {
    const std::string digest = std::string(signature_one).substr(3);
    for (const std::string& signature :
         {digest, "v2," + digest, "v1a," + digest, "V1," + digest, "v1 " + digest,
          std::string("v1,"), std::string("v1,!!!!"), "v1," + digest.substr(0, 43),
          std::string(signature_two)}) {
        const std::vector<Header> headers = standard_headers(message_id, timestamp, signature);
        EXPECT_FALSE(we_accept(headers, body)) << signature;
        EXPECT_FALSE(peer_accepts(headers, body)) << signature;
    }
    for (const char* seconds : {"", "x", "yesterday"}) {
        EXPECT_FALSE(we_accept(standard_headers(message_id, seconds), body)) << seconds;
        EXPECT_FALSE(peer_accepts(standard_headers(message_id, seconds), body)) << seconds;
    }
}

TEST_F(WebhookPeer, BothHaveTheSameWindow) {
    const Instant signed_at = clock_.now();
    for (const Duration offset : {-301s, -300s, -299s, 0s, 299s, 300s, 301s}) {
        clock_.set(signed_at + offset);
        peer_.set_time(clock_.now());
        const bool inside = offset >= -300s && offset <= 300s;
        EXPECT_EQ(we_accept(standard_headers(), body), inside) << offset.count();
        EXPECT_EQ(peer_accepts(standard_headers(), body), inside) << offset.count();
    }
}

// Whatever is done to a message: where we say yes, the peer says yes.
TEST_F(WebhookPeer, WeNeverAcceptWhatItRefuses) {
    std::mt19937 random(20240101);
    const std::string alphabet = "v1,= .aA+/_t;-90";
    int accepted = 0;
    for (int round = 0; round < 2'000; ++round) {
        std::vector<Header> headers = scheme_.sign("msg" + std::to_string(round), body);
        std::string& value = headers[random() % 3].value;
        const std::size_t place = random() % (value.size() + 1);
        if (random() % 2 == 0) {
            value.insert(place, 1, alphabet[random() % alphabet.size()]);
        } else if (random() % 4 != 0) {
            value.erase(place, random() % 3);
        }
        if (!we_accept(headers, body)) continue;
        ++accepted;
        ASSERT_TRUE(peer_accepts(headers, body)) << value;
    }
    EXPECT_GT(accepted, 100);  // those that were left as they were
}

TEST_F(WebhookPeer, StripeStyleHeadersAreTheSameInNode) {
    const StripeStyle scheme({{"live", stripe_secret}}, {.clock = &clock_});
    for (const std::string& text : bodies)
        EXPECT_THAT(peer_.ask({"stripe", stripe_secret, timestamp, text}),
                    testing::ElementsAre("ok", scheme.sign(text).value))
            << text.substr(0, 80);
}

}  // namespace
}  // namespace postroom::test
