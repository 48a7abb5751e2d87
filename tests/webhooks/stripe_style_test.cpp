#include <gtest/gtest.h>

#include <stdexcept>

#include "webhooks/messages.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using webhooks::Authenticity;
using webhooks::Header;
using webhooks::StripeStyle;
using webhooks::Verification;

const std::string t = std::string("t=") + timestamp;
const std::string v1 = std::string("v1=") + stripe_digest;
const std::string other_v1 = "v1=" + std::string(64, '0');

class StripeStyleTest : public testing::Test {
protected:
    Authenticity authenticity(const std::string& value, std::string_view text = body) const {
        return scheme_.verify(views({{"Stripe-Signature", value}}), text).authenticity;
    }

    ManualClock clock_;
    StripeStyle scheme_{{{"live", stripe_secret}}, {.clock = &clock_}};
};

TEST_F(StripeStyleTest, AcceptsAndMakesTheFixedVector) {
    const Verification result = scheme_.verify(views({{"Stripe-Signature", t + "," + v1}}), body);
    EXPECT_EQ(result.authenticity, Authenticity::ok);
    EXPECT_EQ(result.message_id, "");
    EXPECT_EQ(result.signed_at, clock_.now());
    EXPECT_EQ(result.key_name, "live");
    EXPECT_EQ(authenticity(
                  t + ",v1=6fa72de77755314a07bcb4a90aafee2d9925864f5b371d92f814d4694bef9655", ""),
              Authenticity::ok);

    const Header header = scheme_.sign(body);
    EXPECT_EQ(header.name, "Stripe-Signature");
    EXPECT_EQ(header.value, t + "," + v1);
}

TEST_F(StripeStyleTest, TheHeaderMayHaveAnotherName) {
    const StripeStyle scheme({{"k", stripe_secret}}, {.clock = &clock_}, "X-Shop-Signature");
    EXPECT_EQ(scheme.sign(body).name, "X-Shop-Signature");
    EXPECT_EQ(scheme.verify(views({{"x-SHOP-signature", t + "," + v1}}), body).authenticity,
              Authenticity::ok);
    EXPECT_EQ(scheme.verify(views({{"Stripe-Signature", t + "," + v1}}), body).authenticity,
              Authenticity::missing_header);
    EXPECT_THROW(StripeStyle({{"k", stripe_secret}}, {}, ""), std::invalid_argument);
}

TEST_F(StripeStyleTest, NoChangedBitIsAccepted) {
    const std::string value = t + "," + v1;
    const std::string text = body;
    for (unsigned bit = 0; bit < 8; ++bit) {
        for (std::size_t i = 0; i < value.size(); ++i)
            ASSERT_NE(authenticity(flipped(value, i, bit)), Authenticity::ok)
                << i << " bit " << bit;
        for (std::size_t i = 0; i < text.size(); ++i)
            ASSERT_EQ(authenticity(value, flipped(text, i, bit)),
                      Authenticity::no_matching_signature)
                << i << " bit " << bit;
    }
    EXPECT_EQ(authenticity(value, text + "\n"), Authenticity::no_matching_signature);
    EXPECT_EQ(authenticity(value, ""), Authenticity::no_matching_signature);
}

TEST_F(StripeStyleTest, TheWindowIsFiveMinutesInBothDirections) {
    const Instant signed_at = clock_.now();
    const auto at = [&](Duration offset) {
        clock_.set(signed_at + offset);
        return authenticity(t + "," + v1);
    };
    EXPECT_EQ(at(300s), Authenticity::ok);
    EXPECT_EQ(at(301s), Authenticity::timestamp_too_old);
    EXPECT_EQ(at(-300s), Authenticity::ok);
    EXPECT_EQ(at(-301s), Authenticity::timestamp_in_future);
}

TEST_F(StripeStyleTest, SeveralSignaturesAndOtherElementsMayStandInAnyOrder) {
    EXPECT_EQ(authenticity(v1 + "," + t), Authenticity::ok);
    EXPECT_EQ(authenticity(t + "," + other_v1), Authenticity::no_matching_signature);
    EXPECT_EQ(authenticity(t + "," + other_v1 + "," + v1), Authenticity::ok);
    EXPECT_EQ(authenticity(t + "," + v1 + "," + other_v1), Authenticity::ok);
    EXPECT_EQ(authenticity(t + ",v0=whatever," + v1 + ",v2=,x=1"), Authenticity::ok);
}

TEST_F(StripeStyleTest, AnotherVersionAloneIsNotEnough) {
    EXPECT_EQ(authenticity(t + ",v0=" + stripe_digest), Authenticity::unknown_version);
    EXPECT_EQ(authenticity(t + ",V1=" + stripe_digest), Authenticity::unknown_version);
    EXPECT_EQ(authenticity(t), Authenticity::unknown_version);
}

TEST_F(StripeStyleTest, AGarbledHeaderIsMalformed) {
    const std::string digest = stripe_digest;
    std::string upper = digest;
    upper[0] = 'F';
    for (const std::string& value : {v1,
                                     t + "," + t + "," + v1,
                                     t + ", " + v1,
                                     t + ",," + v1,
                                     t + "," + v1 + ",",
                                     "," + t + "," + v1,
                                     t + ";" + v1,
                                     std::string("garbage"),
                                     std::string("="),
                                     "t=," + v1,
                                     "t=x," + v1,
                                     "t=-1," + v1,
                                     "t=0" + std::string(timestamp) + "," + v1,
                                     t + ",v1=",
                                     t + ",v1",
                                     t + ",v1=" + digest.substr(1),
                                     t + ",v1=" + digest + "0",
                                     t + ",v1=" + upper,
                                     t + ",v1=" + digest.substr(0, 63) + "g",
                                     t + ",=" + digest})
        EXPECT_EQ(authenticity(value), Authenticity::malformed) << value;
}

TEST_F(StripeStyleTest, AMissingOrRepeatedHeaderIsRefused) {
    EXPECT_EQ(scheme_.verify({}, body).authenticity, Authenticity::missing_header);
    EXPECT_EQ(authenticity(""), Authenticity::missing_header);
    EXPECT_EQ(
        scheme_
            .verify(views({{"stripe-signature", t + "," + v1}, {"Stripe-Signature", t + "," + v1}}),
                    body)
            .authenticity,
        Authenticity::malformed);
}

TEST_F(StripeStyleTest, SizesAreLimited) {
    std::string list = t + "," + v1;
    for (int i = 1; i < 16; ++i) list += "," + other_v1;
    EXPECT_EQ(authenticity(list), Authenticity::ok);
    EXPECT_EQ(authenticity(list + ",v0=x"), Authenticity::too_many_signatures);
    EXPECT_EQ(authenticity(std::string(1'000'000, ',')), Authenticity::header_too_large);
}

TEST(StripeStyleKeys, BadSecretsAreRefused) {
    EXPECT_THROW(StripeStyle({{"k", ""}}), std::invalid_argument);
    EXPECT_THROW(StripeStyle({{"k", std::string(15, 'x')}}), std::invalid_argument);
    EXPECT_NO_THROW(StripeStyle({{"k", std::string(16, 'x')}}));
    EXPECT_NO_THROW(StripeStyle({{"k", std::string(512, 'x')}}));
    EXPECT_THROW(StripeStyle({{"k", std::string(513, 'x')}}), std::invalid_argument);
}

}  // namespace
}  // namespace postroom::test
