#include "base/utf8.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

namespace postroom::base::utf8_test {
namespace {

using namespace std::string_literals;

const std::string replaced = "\xEF\xBF\xBD";
const std::string euro = "\xE2\x82\xAC";
const std::string face = "\xF0\x9F\x98\x80";

TEST(Utf8, AcceptsTheFirstAndLastOfEveryLength) {
    for (const std::string& text : {
             ""s, "plain"s, "\0"s, "\x7F"s,             //
             "\xC2\x80"s, "\xDF\xBF"s,                  // U+0080, U+07FF
             "\xE0\xA0\x80"s, "\xEF\xBF\xBF"s,          // U+0800, U+FFFF
             "\xED\x9F\xBF"s, "\xEE\x80\x80"s,          // around the surrogates
             "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s,  // U+10000, U+10FFFF
         })
        EXPECT_TRUE(is_valid_utf8(text)) << testing::PrintToString(text);
}

struct IllFormed {
    std::string text;
    std::size_t pieces;
};

TEST(Utf8, RefusesIllFormedTextAndCountsItsPieces) {
    for (const IllFormed& c : {
             IllFormed{"\x80", 1},              // continuation alone
             IllFormed{"\xC0\x80", 2},          // overlong NUL
             IllFormed{"\xC1\xBF", 2},          // overlong
             IllFormed{"\xE0\x80\x80", 3},      // overlong
             IllFormed{"\xE0\x9F\xBF", 3},      // overlong
             IllFormed{"\xF0\x80\x80\x80", 4},  // overlong
             IllFormed{"\xF0\x8F\xBF\xBF", 4},  // overlong
             IllFormed{"\xED\xA0\x80", 3},      // surrogate
             IllFormed{"\xED\xBF\xBF", 3},      // surrogate
             IllFormed{"\xF4\x90\x80\x80", 4},  // above U+10FFFF
             IllFormed{"\xF5\x80\x80\x80", 4},  // no such first byte
             IllFormed{"\xFE\xFF", 2},          // no such bytes
             IllFormed{"\xC3", 1},              // cut
             IllFormed{"\xE2\x82", 1},          // cut
             IllFormed{"\xF0\x9F\x98", 1},      // cut
             IllFormed{"\xE2\x82\xE2\x82", 2},  // cut twice
         }) {
        EXPECT_FALSE(is_valid_utf8(c.text)) << testing::PrintToString(c.text);
        EXPECT_EQ(code_point_count(c.text), c.pieces) << testing::PrintToString(c.text);
        std::string expected;
        for (std::size_t i = 0; i < c.pieces; ++i) expected += replaced;
        EXPECT_EQ(sanitize_utf8(c.text), expected) << testing::PrintToString(c.text);
    }
}

TEST(Utf8, CountsCodePointsNotBytes) {
    EXPECT_EQ(code_point_count(""), 0u);
    EXPECT_EQ(code_point_count("abc"), 3u);
    EXPECT_EQ(code_point_count("a" + euro + face), 3u);
    EXPECT_EQ(code_point_count("e\xCC\x81"), 2u);  // a combining accent is a code point
}

TEST(Utf8, TruncatesOnABoundary) {
    const std::string text = "a" + euro + face + "z";
    EXPECT_EQ(truncate_utf8(text, 0), "");
    EXPECT_EQ(truncate_utf8(text, 1), "a");
    EXPECT_EQ(truncate_utf8(text, 2), "a" + euro);
    EXPECT_EQ(truncate_utf8(text, 3), "a" + euro + face);
    EXPECT_EQ(truncate_utf8(text, 4), text);
    EXPECT_EQ(truncate_utf8(text, 5), text);
    EXPECT_EQ(truncate_utf8(text, ~std::size_t{0}), text);
    EXPECT_EQ(truncate_utf8("", 3), "");
}

TEST(Utf8, SanitizeKeepsGoodTextAndReplacesTheRest) {
    EXPECT_EQ(sanitize_utf8("a" + euro + face), "a" + euro + face);
    EXPECT_EQ(sanitize_utf8("a\0b"s), "a" + replaced + "b");
    EXPECT_EQ(sanitize_utf8("a\xFFz"), "a" + replaced + "z");
    EXPECT_EQ(sanitize_utf8("\xE2\x82" + euro), replaced + euro);
    EXPECT_EQ(sanitize_utf8("\xE2\x82z"), replaced + "z");
}

std::string arbitrary_bytes() {
    // Bytes that take part in sequences come up often enough to form some.
    return *rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::arbitrary<char>(),
                       rc::gen::element('\0', 'a', '\x80', '\x9F', '\xA0', '\xBF', '\xC2', '\xE0',
                                        '\xE2', '\xED', '\xF0', '\xF4')));
}

RC_GTEST_PROP(Utf8Property, SanitizedTextIsValidWithoutNulAndStaysAsItIs, ()) {
    const std::string clean = sanitize_utf8(arbitrary_bytes());
    RC_ASSERT(is_valid_utf8(clean));
    RC_ASSERT(clean.find('\0') == std::string::npos);
    RC_ASSERT(sanitize_utf8(clean) == clean);
}

RC_GTEST_PROP(Utf8Property, SanitizingKeepsTheCount, ()) {
    const std::string bytes = arbitrary_bytes();
    RC_ASSERT(code_point_count(sanitize_utf8(bytes)) == code_point_count(bytes));
}

RC_GTEST_PROP(Utf8Property, TruncationIsTheLongestValidPrefixInTheLimit, ()) {
    const std::string clean = sanitize_utf8(arbitrary_bytes());
    const auto limit = *rc::gen::inRange<std::size_t>(0, 20);
    const std::string_view cut = truncate_utf8(clean, limit);
    RC_ASSERT(clean.starts_with(cut));
    RC_ASSERT(is_valid_utf8(cut));
    RC_ASSERT(code_point_count(cut) == std::min(limit, code_point_count(clean)));
}

}  // namespace
}  // namespace postroom::base::utf8_test
