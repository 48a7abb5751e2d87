// Tokens of the SQL texts.
#include <gtest/gtest.h>

#include "sql/expander.hpp"

namespace postroom::sql {
namespace {

std::string expand(const std::string& text, Queue queue = Queue::outbox) {
    const Vocabulary vocabulary{
        .qualify = [](const base::Identifier& schema,
                      std::string_view name) { return schema.str() + "." + std::string(name); },
        .quoted = [](std::string_view name) { return "<" + std::string(name) + ">"; },
        .fields = {.type = [](const Field& field) { return "T" + std::string(field.name); },
                   .value =
                       [](const Field& field, std::string_view alias) {
                           return "v(" + std::string(alias) + "." + std::string(field.name) + ")";
                       },
                   .row_value =
                       [](const Field& field, RowPlace place, Queue) {
                           return place == RowPlace::done ? "NULL" : "m." + std::string(field.name);
                       }},
        .phrases =
            [](Queue of) {
                return Phrases{{"twin", of == Queue::outbox ? "one" : "two {live}"}};
            },
        .define = [](std::string_view kind,
                     const std::string& name) { return std::string(kind) + " " + name; }};
    const Names names{OpenOptions{}};
    return Expander(vocabulary, names, queue).expand(text);
}

TEST(Expander, PutsNamesIn) {
    EXPECT_EQ(expand("{live} {view} {queue} {schema}"),
              "infra.outbox_live infra.outbox outbox <infra>");
    EXPECT_EQ(expand("{live}", Queue::inbox), "infra.inbox_live");
    EXPECT_EQ(expand("{max_payload_bytes} {headers_bytes} {headers_text_bytes}"),
              "1048576 65536 524288");
}

TEST(Expander, LeavesOtherBracesAlone) {
    EXPECT_EQ(expand("'{}' {1} {A} {rows} {"), "'{}' {1} {A} {rows} {");
}

TEST(Expander, ExpandsPhrasesInTurn) {
    EXPECT_EQ(expand("{twin}"), "one");
    EXPECT_EQ(expand("{twin}", Queue::inbox), "two infra.inbox_live");
}

TEST(Expander, ListsTheFieldsOfASet) {
    EXPECT_EQ(expand("{columns:bare}"), "nonce, message_id, topic, payload");
    EXPECT_EQ(expand("{columns:bare x}"), "x.nonce, x.message_id, x.topic, x.payload");
    EXPECT_EQ(expand("{values:bare x}"), "v(x.nonce), v(x.message_id), v(x.topic), v(x.payload)");
    EXPECT_EQ(expand("{bound:bare}"), ":nonce, :message_id, :topic, :payload");
    EXPECT_EQ(expand("{inputs:bare}"), "in_nonce, in_message_id, in_topic, in_payload");
    EXPECT_EQ(expand("{declared:bare}"),
              "in_nonce Tnonce, in_message_id Tmessage_id, in_topic Ttopic, in_payload Tpayload");
    EXPECT_EQ(expand("{typed:bare}"),
              "nonce Tnonce, message_id Tmessage_id, topic Ttopic, payload Tpayload");
}

TEST(Expander, WritesTheMessageRowOfAPlace) {
    EXPECT_TRUE(expand("{row:live}").starts_with("m.seq, m.nonce, m.state, m.message_id"));
    EXPECT_TRUE(expand("{row:done}").starts_with("NULL, NULL"));
}

TEST(Expander, AsksTheEngineHowToReplaceARoutine) {
    EXPECT_EQ(expand("{define:function do_claim}"), "function infra.outbox_do_claim");
}

}  // namespace
}  // namespace postroom::sql
