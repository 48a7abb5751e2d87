// What is stored comes back byte for byte, and what differs in a byte is different.
#include "conformance/law.hpp"
#include "support/expect_given.hpp"

namespace postroom::test {
namespace {

std::string all_bytes() {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
    return bytes;
}

TEST_P(BytesLaw, OBX_011_IBX_022_APayloadMayHoldAnyBytes) {
    for (const std::string& payload :
         {all_bytes(), std::string("\0", 1), std::string("not json {"), std::string("  padded  "),
          std::string("\xFF\xFE not utf-8"), std::string("\xF0\x9F\x93\xAE"),
          std::string("\\x00 '\" $1 ?1 :name {live}")}) {
        const WorkItemId id = put({.payload = payload});
        EXPECT_EQ(get(id).payload, payload);
        const Message claimed = claim_one();
        EXPECT_EQ(claimed.payload, payload);
        work().ack(leases_of(claimed));
    }
}

TEST_P(BytesLaw, OBX_006_IBX_019_AnEmptyPayloadIsAPayload) {
    const WorkItemId id = put({.payload = ""});
    EXPECT_EQ(get(id).payload, "");
    EXPECT_EQ(claim_one().payload, "");
}

TEST_P(BytesLaw, OBX_096_IBX_118_APayloadOfTheFullSizeIsStored) {
    const std::string payload(store().limits().max_payload_bytes, '\xAB');
    put({.payload = payload});
    EXPECT_TRUE(claim_one().payload == payload);
}

TEST_P(BytesLaw, OBX_096_IBX_118_TheLimitOfThePayloadIsConfigurable) {
    Limits limits;
    limits.max_payload_bytes = std::size_t{8} * 1024 * 1024;
    open({.limits = limits});
    const std::string payload(limits.max_payload_bytes, 'x');
    put({.payload = payload});
    EXPECT_TRUE(claim_one().payload == payload);
}

TEST_P(BytesLaw, OBX_010_IBX_021_TopicsAreComparedByteByByte) {
    const std::vector<std::string> topics{
        "Order.Created",
        "order.created",
        "order.created ",         // no padding
        " order.created",         //
        "caf\xC3\xA9",            // composed
        "cafe\xCC\x81",           // decomposed
        "\xF0\x9F\x93\xAE post",  // beyond the basic plane
        "stra\xC3\x9F"
        "e",
        "strasse",
        "a'b\"c;--",
        "%",
        "_",
    };
    for (const std::string& topic : topics) put({.topic = topic});
    for (const std::string& topic : topics) {
        const std::vector<Message> found = store().find(queue(), {.topic = topic});
        ASSERT_THAT(found, SizeIs(1)) << topic;
        EXPECT_EQ(found[0].topic, topic);
    }
    std::vector<std::string> claimed;
    for (const Message& message : claim()) claimed.push_back(message.topic);
    EXPECT_THAT(claimed, testing::UnorderedElementsAreArray(topics));
}

TEST_P(BytesLaw, TopicsOf255CharactersOfAnySizeAreStored) {
    std::string posts;
    for (int i = 0; i < 255; ++i) posts += "\xF0\x9F\x93\xAE";
    const WorkItemId id = put({.topic = posts});
    EXPECT_EQ(get(id).topic, posts);
}

TEST_P(BytesLaw, HeadersComeBackAsTheyWere) {
    const Headers headers{{"plain", "1"},
                          {"Plain", "2"},
                          {"quoted \"name\"", "back\\slash"},
                          {"unicode \xC3\xA9", "\xF0\x9F\x93\xAE"},
                          {"tab", "a\tb"},
                          {"control", "\x01\x1F\x7F"},
                          {"empty", ""}};
    put({.headers = headers});
    EXPECT_EQ(claim_one().headers, headers);
}

// Drivers bind short values and long ones in different ways, and some cut what is between.
TEST_P(BytesLaw, NoValueIsCutAtALengthThatADriverKnows) {
    for (const std::size_t length : {4000U, 4001U, 8000U, 8001U}) {
        const std::string text = "\xF0\x9F\x93\xAE" + std::string(length - 2, 'x') + ' ';
        const std::string payload(length, '\xFF');
        put({.payload = payload, .headers = {{"h", text}}});
        const Message claimed = claim_one();
        EXPECT_TRUE(claimed.payload == payload) << length;
        EXPECT_TRUE(claimed.headers.at("h") == text) << length;
        work().fail(leases_of(claimed), text.substr(0, 4000));
        EXPECT_TRUE(get(claimed.id).last_error == text.substr(0, 4000)) << length;
    }
}

TEST_P(BytesLaw, TimesAreKeptToTheMicrosecond) {
    const Instant due{std::chrono::microseconds{4'102'444'800'123'457}};
    const WorkItemId id = put({.due_time = due, .expires_at = due + std::chrono::microseconds{1}});
    EXPECT_EQ(get(id).due_time, due);
    EXPECT_EQ(get(id).expires_at, due + std::chrono::microseconds{1});
}

TEST_P(BytesLaw, ContentSurvivesEveryMove) {
    using namespace std::chrono_literals;
    const Draft draft{.topic = "caf\xC3\xA9 ",
                      .payload = all_bytes(),
                      .max_attempts = 9,
                      .content_type = "application/octet-stream",
                      .headers = {{"k", "v"}},
                      .expires_at = Instant{std::chrono::seconds{4'102'444'800}}};
    const WorkItemId id = put(draft);
    const auto expect_unchanged = [&](const Message& message) {
        EXPECT_EQ(message.id, id);
        expect_given(draft, message);
    };
    work().abandon(leases_of(claim_one()), "x", 1ms);
    pass(5ms);
    expect_unchanged(claim_one(short_lease));
    pass(after_short_lease);
    work().reap_expired();
    const Message again = claim_one();
    expect_unchanged(again);
    work().fail(leases_of(again), "x");
    expect_unchanged(get(id));
    work().redrive(std::vector<WorkItemId>{id});
    expect_unchanged(claim_one());
}

}  // namespace
}  // namespace postroom::test
