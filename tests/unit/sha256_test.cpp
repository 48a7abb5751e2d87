#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/hex.hpp"

namespace postroom::base::sha256_test {
namespace {

TEST(Sha256, MatchesThePublishedVectors) {
    EXPECT_EQ(hex_encode(sha256("")),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hex_encode(sha256(std::string_view{})), hex_encode(sha256("")));
    EXPECT_EQ(hex_encode(sha256("abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex_encode(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hex_encode(sha256(std::string(1'000'000, 'a'))),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(HmacSha256, MatchesTheVectorsOfRfc4231) {
    EXPECT_EQ(hex_encode(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(hex_encode(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(hex_encode(hmac_sha256(std::string(131, '\xaa'),
                                     "Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, TakesAnEmptyKeyAndAnEmptyText) {
    const std::string_view expected =
        "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
    EXPECT_EQ(hex_encode(hmac_sha256("", "")), expected);
    EXPECT_EQ(hex_encode(hmac_sha256({}, {})), expected);
}

TEST(ConstantTimeEqual, ComparesBytesAndLength) {
    EXPECT_TRUE(constant_time_equal("", {}));
    EXPECT_TRUE(constant_time_equal("secret", std::string("secret")));
    EXPECT_TRUE(constant_time_equal(std::string_view("a\0b", 3), std::string_view("a\0b", 3)));
    EXPECT_FALSE(constant_time_equal(std::string_view("a\0b", 3), std::string_view("a\0c", 3)));
    EXPECT_FALSE(constant_time_equal("secret", "secreT"));
    EXPECT_FALSE(constant_time_equal("secret", "Secret"));
    EXPECT_FALSE(constant_time_equal("secret", "secre"));
    EXPECT_FALSE(constant_time_equal("", "s"));
}

}  // namespace
}  // namespace postroom::base::sha256_test
