// Changing keys while messages come in: none is refused on the way, and a revoked key counts no
// more.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "postroom/error.hpp"
#include "webhooks/messages.hpp"

namespace postroom::test {
namespace {

using webhooks::Authenticity;
using webhooks::Key;
using webhooks::StandardWebhooks;
using webhooks::StripeStyle;

class KeyRotation : public testing::Test {
protected:
    Authenticity authenticity(const StandardWebhooks& receiver,
                              const StandardWebhooks& sender) const {
        return receiver.verify(views(sender.sign(message_id, body)), body).authenticity;
    }

    ManualClock clock_;
    StandardWebhooks sender_{{{"old", secret_one}}, {.clock = &clock_}};
    StandardWebhooks receiver_{{{"old", secret_one}}, {.clock = &clock_}};
};

TEST_F(KeyRotation, NoMessageIsRefusedWhileTheKeyIsChanged) {
    EXPECT_EQ(authenticity(receiver_, sender_), Authenticity::ok);
    sender_.add_key({"new", secret_two});  // signs with both from here on
    EXPECT_EQ(authenticity(receiver_, sender_), Authenticity::ok);
    receiver_.add_key({"new", secret_two});
    EXPECT_EQ(authenticity(receiver_, sender_), Authenticity::ok);
    EXPECT_TRUE(receiver_.revoke_key("old"));
    EXPECT_EQ(authenticity(receiver_, sender_), Authenticity::ok);
    EXPECT_TRUE(sender_.revoke_key("old"));
    EXPECT_EQ(authenticity(receiver_, sender_), Authenticity::ok);
}

TEST_F(KeyRotation, AllKeysSignInTheOrderTheyWereAdded) {
    sender_.add_key({"new", secret_two});
    EXPECT_EQ(sender_.sign(message_id, body)[2].value,
              std::string(signature_one) + " " + signature_two);
    const StripeStyle stripe({{"a", stripe_secret}, {"b", "another secret text"}},
                             {.clock = &clock_});
    const std::string value = stripe.sign(body).value;
    EXPECT_EQ(value.find(std::string("t=") + timestamp + ",v1=" + stripe_digest + ",v1="), 0u);
    EXPECT_EQ(StripeStyle({{"b", "another secret text"}}, {.clock = &clock_})
                  .verify(views({{"Stripe-Signature", value}}), body)
                  .authenticity,
              Authenticity::ok);
}

TEST_F(KeyRotation, TheVerificationNamesTheKeyThatMatched) {
    receiver_.add_key({"new", secret_two});
    const auto key_of = [&](const char* signature) {
        return receiver_.verify(views(standard_headers(message_id, timestamp, signature)), body)
            .key_name;
    };
    EXPECT_EQ(key_of(signature_one), "old");
    EXPECT_EQ(key_of(signature_two), "new");
}

TEST_F(KeyRotation, ARevokedKeyIsRefusedAtOnceAndForBothSides) {
    receiver_.add_key({"new", secret_two});
    EXPECT_TRUE(receiver_.revoke_key("old"));
    EXPECT_FALSE(receiver_.revoke_key("old"));
    EXPECT_EQ(authenticity(receiver_, sender_), Authenticity::no_matching_signature);
    EXPECT_TRUE(receiver_.revoke_key("new"));
    EXPECT_EQ(authenticity(receiver_, sender_), Authenticity::no_matching_signature);
    try {
        receiver_.sign(message_id, body);
        ADD_FAILURE() << "signed without a key";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::misuse);
    }
    receiver_.add_key({"old", secret_one});
    EXPECT_EQ(authenticity(receiver_, sender_), Authenticity::ok);
}

TEST_F(KeyRotation, ListsOfKeysAreChecked) {
    EXPECT_THROW(StandardWebhooks({}), std::invalid_argument);
    EXPECT_THROW(StandardWebhooks({{"", secret_one}}), std::invalid_argument);
    EXPECT_THROW(StandardWebhooks({{"a", secret_one}, {"a", secret_two}}), std::invalid_argument);
    EXPECT_THROW(receiver_.add_key({"old", secret_two}), std::invalid_argument);
    EXPECT_THROW(receiver_.add_key({"new", "x"}), std::invalid_argument);
    for (std::size_t i = 1; i < StandardWebhooks::keys_max; ++i)
        receiver_.add_key({"key" + std::to_string(i), secret_two});
    EXPECT_THROW(receiver_.add_key({"too many", secret_two}), std::invalid_argument);
    EXPECT_EQ(authenticity(receiver_, sender_), Authenticity::ok);
}

TEST_F(KeyRotation, KeysMayChangeWhileOthersVerify) {
    std::atomic<bool> stop = false;
    std::atomic<int> refused = 0;
    std::atomic<int> verified = 0;
    {
        const auto verify = [&] {
            while (!stop) {
                if (receiver_.verify(views(standard_headers()), body).ok())
                    ++verified;
                else
                    ++refused;
            }
        };
        const std::jthread first(verify);
        const std::jthread second(verify);
        for (int i = 0; i < 500 || verified < 500; ++i) {
            receiver_.add_key({"new", secret_two});
            receiver_.revoke_key("new");
        }
        stop = true;
    }
    EXPECT_EQ(refused, 0);
    EXPECT_GE(verified, 500);
}

}  // namespace
}  // namespace postroom::test
