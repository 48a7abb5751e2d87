#include <gmock/gmock.h>

#include "base/json_map.hpp"
#include "base/json_text.hpp"
#include "base/nearest.hpp"
#include "base/rfc3339.hpp"
#include "queue/message_json.hpp"
#include "sinks/messages.hpp"

namespace postroom::test {
namespace {

using base::compact_json;

TEST(CompactJson, KeepsEveryTokenAndDropsWhiteSpace) {
    EXPECT_EQ(compact_json(" {\n\"a b\" : [ 1 , 2.50e+3, -0.1,\ttrue,false,null , \"x\\n\\u00e9\" "
                           "], \"\":{} }\r\n"),
              R"({"a b":[1,2.50e+3,-0.1,true,false,null,"x\n\u00e9"],"":{}})");
    EXPECT_EQ(compact_json("123456789012345678901234567890"), "123456789012345678901234567890");
    EXPECT_EQ(compact_json("\"é\""), "\"é\"");
}

TEST(CompactJson, RefusesWhatIsNotJson) {
    for (const char* text :
         {"",      " ",     "{",   "}",        "[1,]",        "{\"a\"}",  "{\"a\":}",
          "{a:1}", "01",    "1.",  ".5",       "1e",          "-",        "+1",
          "nul",   "tru e", "\"a", "\"\\x\"",  "\"\\u12g4\"", "\"a\nb\"", "1 2",
          "[1}",   "'a'",   "NaN", "\"\xff\"", "{\"a\":1,}",  "\"\\\""})
        EXPECT_EQ(compact_json(text), std::nullopt) << text;
}

TEST(CompactJson, RefusesHalvesOfSurrogatePairs) {
    for (const char* text : {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\n")",
                             R"("\ud800\u0041")", R"("\udc00\ud800")", R"({"\uDFFF":1})"})
        EXPECT_EQ(compact_json(text), std::nullopt) << text;
    EXPECT_EQ(compact_json(R"("\ud83d\ude00")"), R"("\ud83d\ude00")");
}

// U+009B is an escape sequence to some terminals; U+202E turns the text around.
TEST(CompactJson, EscapesWhatCouldDeceiveAReader) {
    EXPECT_EQ(compact_json("{\"\xC2\x9B\":\"a\xE2\x80\xAE\xEF\xBB\xBF\xF3\xA0\x80\x81z\"}"),
              R"({"\u009b":"a\u202e\ufeff\udb40\udc01z"})");
}

TEST(JsonString, IsValidWhateverTheBytes) {
    std::string out;
    base::append_json_string(out, "\"\\\x01\x7F\xC2\x9B\xE2\x80\xAE\xED\xA0\x80\xFF\xC3\xA9");
    EXPECT_EQ(out,
              "\"\\\"\\\\\\u0001\\u007f\\u009b\\u202e\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF"
              "\xBD\xC3\xA9\"");
}

TEST(JsonMap, HalvesOfSurrogatePairsAreNoCharacters) {
    const auto map =
        base::map_from_json(R"({"a":"\udc00","b":"\ud800","c":"\ud800\u0041","d":"\ud83d\ude00"})");
    ASSERT_TRUE(map);
    EXPECT_EQ(map->at("a"), "\xEF\xBF\xBD");
    EXPECT_EQ(map->at("b"), "\xEF\xBF\xBD");
    EXPECT_EQ(map->at("c"),
              "\xEF\xBF\xBD"
              "A");
    EXPECT_EQ(map->at("d"), "\xF0\x9F\x98\x80");
    EXPECT_EQ(base::to_json({{"a\xC2\x9B", "\xE2\x80\xAE\xFF"}}),
              "{\"a\\u009b\":\"\\u202e\xEF\xBF\xBD\"}");
}

TEST(CompactJson, NestingHasALimit) {
    const std::string open(256, '[');
    EXPECT_TRUE(compact_json(open + std::string(256, ']')));
    EXPECT_FALSE(compact_json(std::string(100'000, '[')));
}

TEST(Nearest, FindsTheTypingErrorAndNothingElse) {
    const std::vector<std::string> words{"timeout", "connect_timeout", "url"};
    EXPECT_EQ(base::nearest("timout", words), "timeout");
    EXPECT_EQ(base::nearest("tmieout", words), "timeout");
    EXPECT_EQ(base::nearest("connect_timeuot", words), "connect_timeout");
    EXPECT_EQ(base::nearest("ulr", words), "url");
    EXPECT_EQ(base::nearest("password", words), std::nullopt);
    EXPECT_EQ(base::edit_distance("ab", "ba"), 1u);
    EXPECT_EQ(base::edit_distance("", "abc"), 3u);
}

TEST(Rfc3339, IsUtcWithMicroseconds) {
    using namespace std::chrono;
    EXPECT_EQ(base::rfc3339(sys_days{2026y / 2 / 3} + 4h + 5min + 6s + 7us),
              "2026-02-03T04:05:06.000007Z");
    EXPECT_EQ(base::rfc3339(sys_days{1969y / 12 / 31} + 23h), "1969-12-31T23:00:00.000000Z");
}

TEST(MessageJson, JsonIsPutInAsItIs) {
    EXPECT_EQ(message_json(message_with("m1", "{ \"n\": 1 }")),
              R"({"message_id":"m1","topic":"order.placed","content_type":"application/json",)"
              R"("created_at":"2026-01-31T00:00:00.000000Z","payload":{"n":1}})");
}

TEST(MessageJson, TextIsAStringAndTheRestIsBase64) {
    Message message = message_with("m1", "a\"\n");
    const auto payload_of = [&message] {
        std::string out;
        append_payload_member(out, message);
        return out;
    };
    EXPECT_EQ(payload_of(), R"("payload_base64":"YSIK")") << "says JSON and is none";
    message.content_type = "text/plain; charset=utf-8";
    EXPECT_EQ(payload_of(), R"("payload":"a\"\u000a")");
    message.payload = "\xff";
    EXPECT_EQ(payload_of(), R"("payload_base64":"/w==")");
    message.content_type = "application/vnd.shop+JSON;v=1";
    message.payload = "[1]";
    EXPECT_EQ(payload_of(), R"("payload":[1])");
    message.content_type = "application/octet-stream";
    EXPECT_EQ(payload_of(), R"("payload_base64":"WzFd")");
}

TEST(MessageJson, BytesThatAreNoTextRoundTripAsBase64) {
    const auto payload_of = [](const std::string& payload) {
        std::string out;
        append_payload_member(out, message_with("m1", payload));
        return out;
    };
    EXPECT_EQ(payload_of(R"("\ud800")"), R"("payload_base64":"Ilx1ZDgwMCI=")");
    EXPECT_EQ(payload_of("\"\xED\xA0\x80\""), R"("payload_base64":"Iu2ggCI=")");
}

TEST(MessageJson, OtherFieldsAreThereWhenSet) {
    Message message = keyed_message("m1", "k");
    message.headers = {{"traceparent", "00-1"}};
    message.correlation_id = "c";
    message.tenant_id = "t";
    message.aggregate_type = "order";
    message.aggregate_id = "17";
    const std::string json = message_json(message);
    for (const char* part :
         {R"("headers":{"traceparent":"00-1"})", R"("correlation_id":"c")", R"("tenant_id":"t")",
          R"("aggregate_type":"order")", R"("aggregate_id":"17")", R"("ordering_key":"k")"})
        EXPECT_THAT(json, testing::HasSubstr(part));
    EXPECT_EQ(json.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace postroom::test
