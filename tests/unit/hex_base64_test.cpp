#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <string>

#include "base/base64.hpp"
#include "base/hex.hpp"

namespace postroom::base::hex_base64_test {
namespace {

TEST(Hex, EncodesLowerCase) {
    EXPECT_EQ(hex_encode(""), "");
    EXPECT_EQ(hex_encode(std::string_view("\x00\x0f\xf0\xff", 4)), "000ff0ff");
}

TEST(Hex, DecodesEitherCase) {
    EXPECT_EQ(hex_decode(""), "");
    EXPECT_EQ(hex_decode("000FF0ff"), std::string("\x00\x0f\xf0\xff", 4));
}

TEST(Hex, RefusesOddLengthAndOtherCharacters) {
    for (const std::string_view text :
         {"0", "000", "0g", "g0", " 0", "0x00", "0:", "0@", "0`", "0/"})
        EXPECT_EQ(hex_decode(text), std::nullopt) << text;
}

RC_GTEST_PROP(HexProperty, RoundTrips, (const std::string& bytes)) {
    RC_ASSERT(hex_decode(hex_encode(bytes)) == bytes);
}

struct Base64Case {
    std::string_view bytes;
    std::string_view text;
};

TEST(Base64, MatchesTheVectorsOfRfc4648) {
    for (const Base64Case& c : {
             Base64Case{"", ""},
             Base64Case{"f", "Zg=="},
             Base64Case{"fo", "Zm8="},
             Base64Case{"foo", "Zm9v"},
             Base64Case{"foob", "Zm9vYg=="},
             Base64Case{"fooba", "Zm9vYmE="},
             Base64Case{"foobar", "Zm9vYmFy"},
             Base64Case{"\xff\xef\xfe", "/+/+"},
         }) {
        EXPECT_EQ(base64_encode(c.bytes), c.text);
        EXPECT_EQ(base64_decode(c.text), c.bytes);
    }
}

TEST(Base64, RefusesEverySecondSpelling) {
    for (const std::string_view text : {
             "Zg",        // no padding
             "Zg=",       // too little
             "Zm9v====",  // too much
             "Z===",      // six bits are no byte
             "====",      // nothing but padding
             "Zh==",      // stray bits
             "Zm9=",      // stray bits
             "Zg==Zg==",  // padding inside
             "Zm9v\n",    // white space
             "Zm 9v===",  // white space
             "_-_-",      // the other alphabet
             "Zm9\xC3",   // no ASCII
         })
        EXPECT_EQ(base64_decode(text), std::nullopt) << text;
}

RC_GTEST_PROP(Base64Property, RoundTrips, (const std::string& bytes)) {
    RC_ASSERT(base64_decode(base64_encode(bytes)) == bytes);
}

RC_GTEST_PROP(Base64Property, WhatDecodesHasOneSpelling, ()) {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::element('A', 'B', 'Q', 'g', 'w', '0', '+', '/', '=', ' '));
    if (const auto bytes = base64_decode(text)) RC_ASSERT(base64_encode(*bytes) == text);
}

}  // namespace
}  // namespace postroom::base::hex_base64_test
