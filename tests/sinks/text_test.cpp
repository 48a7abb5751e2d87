#include <gmock/gmock.h>

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
