#include "base/json_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/listed_words.hpp"
#include "base/wildcards.hpp"

namespace postroom::json_fields_test {
namespace {

using base::json_elements;
using base::json_strings;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(JsonFields, ElementsStayAsTheyAreWritten) {
    EXPECT_THAT(json_elements(R"( [1.10, {"a": [2]}, "x", null] )"),
                ElementsAre("1.10", "{\"a\": [2]}", "\"x\"", "null"));
    EXPECT_THAT(json_elements("[]"), IsEmpty());
    for (const char* const bad : {"", "[", "[1", "[1,]", "{}", "[1] 2", "1"})
        EXPECT_THROW(json_elements(bad), std::invalid_argument) << bad;
}

TEST(JsonFields, StringsAreDecoded) {
    EXPECT_THAT(json_strings(R"(["a", "\u00e9", "\ud83d\ude00"])"),
                ElementsAre("a", "\xC3\xA9", "\xF0\x9F\x98\x80"));
    EXPECT_THROW(json_strings("[1]"), std::invalid_argument);
}

TEST(Wildcards, AStarStandsForAnyCharacters) {
    for (const char* const pattern : {"order.placed", "order.*", "*", "*placed", "o*r.p*d", "**"})
        EXPECT_TRUE(base::matches_wildcards(pattern, "order.placed")) << pattern;
    for (const char* const pattern : {"", "order", "order.*x", "*.paid", "Order.*"})
        EXPECT_FALSE(base::matches_wildcards(pattern, "order.placed")) << pattern;
}

TEST(ListedWords, AreSeparatedBySpacesOrCommas) {
    EXPECT_THAT(base::listed_words(" a, b\tc,,d "), ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(base::listed_words(" , "), IsEmpty());
}

}  // namespace
}  // namespace postroom::json_fields_test
