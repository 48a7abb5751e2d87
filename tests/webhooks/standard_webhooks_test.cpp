#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string_view>

#include "webhooks/messages.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using webhooks::Authenticity;
using webhooks::Header;
using webhooks::HeaderView;
using webhooks::Key;
using webhooks::StandardWebhooks;
using webhooks::Verification;

class StandardWebhooksTest : public testing::Test {
protected:
    Authenticity authenticity(const std::vector<Header>& headers,
                              std::string_view text = body) const {
        return scheme_.verify(views(headers), text).authenticity;
    }
    Authenticity result_of_signature(const std::string& signature) const {
        return authenticity(standard_headers(message_id, timestamp, signature));
    }

    ManualClock clock_;
    StandardWebhooks scheme_{{{"one", secret_one}}, {.clock = &clock_}};
};

TEST_F(StandardWebhooksTest, AcceptsTheFixedVectorAndTellsWhatWasSigned) {
    const Verification result = scheme_.verify(views(standard_headers()), body);
    EXPECT_EQ(result.authenticity, Authenticity::ok);
    EXPECT_EQ(result.message_id, message_id);
    EXPECT_EQ(result.signed_at, clock_.now());
    EXPECT_EQ(result.key_name, "one");
}

TEST_F(StandardWebhooksTest, AcceptsTheVectorsOfAnEmptyAndOfANonAsciiBody) {
    EXPECT_EQ(authenticity(standard_headers(message_id, timestamp,
                                            "v1,fRtJCG/qWK1q8+WCy1C/ZSz539hwSv2Cg2lPESWeM6Y="),
                           ""),
              Authenticity::ok);
    EXPECT_EQ(authenticity(standard_headers(message_id, timestamp,
                                            "v1,nDdWWwgB8sL6zmJ3769yFDnR6CTuBBmepi8bO0OmSVk="),
                           R"({"name":"Ærøskøbing"})"),
              Authenticity::ok);
}

TEST_F(StandardWebhooksTest, SignsTheFixedVector) {
    const std::vector<Header> headers = scheme_.sign(message_id, body);
    ASSERT_EQ(headers.size(), 3u);
    EXPECT_EQ(headers[0].name, "webhook-id");
    EXPECT_EQ(headers[0].value, message_id);
    EXPECT_EQ(headers[1].name, "webhook-timestamp");
    EXPECT_EQ(headers[1].value, timestamp);
    EXPECT_EQ(headers[2].name, "webhook-signature");
    EXPECT_EQ(headers[2].value, signature_one);
}

TEST_F(StandardWebhooksTest, BinaryBodiesAreSignedByteByByte) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
    const std::vector<Header> headers = scheme_.sign(message_id, bytes);
    EXPECT_EQ(authenticity(headers, bytes), Authenticity::ok);
    EXPECT_EQ(authenticity(headers, std::string_view(bytes).substr(0, 255)),
              Authenticity::no_matching_signature);
}

TEST_F(StandardWebhooksTest, TheSecretMayComeWithoutItsPrefix) {
    const StandardWebhooks plain({{"one", std::string(secret_one).substr(6)}}, {.clock = &clock_});
    EXPECT_EQ(plain.verify(views(standard_headers()), body).authenticity, Authenticity::ok);
}

TEST_F(StandardWebhooksTest, HeaderNamesAreComparedWithoutCase) {
    EXPECT_EQ(authenticity({{"WEBHOOK-ID", message_id},
                            {"Webhook-Timestamp", timestamp},
                            {"content-type", "application/json"},
                            {"wEbHoOk-SiGnAtUrE", signature_one}}),
              Authenticity::ok);
}

// Every bit of everything that takes part, one at a time.
TEST_F(StandardWebhooksTest, NoChangedBitIsAccepted) {
    for (unsigned bit = 0; bit < 8; ++bit) {
        const std::string text = body;
        for (std::size_t i = 0; i < text.size(); ++i)
            ASSERT_EQ(authenticity(standard_headers(), flipped(text, i, bit)),
                      Authenticity::no_matching_signature)
                << "byte " << i << " of the body, bit " << bit;
        for (std::size_t header = 0; header < 3; ++header) {
            for (std::size_t i = 0; i < standard_headers()[header].value.size(); ++i) {
                std::vector<Header> headers = standard_headers();
                headers[header].value = flipped(headers[header].value, i, bit);
                ASSERT_NE(authenticity(headers), Authenticity::ok)
                    << "byte " << i << " of " << headers[header].name << ", bit " << bit;
            }
        }
    }
}

TEST_F(StandardWebhooksTest, BytesAddedRemovedOrMovedBetweenFieldsAreRefused) {
    const std::string text = body;
    EXPECT_EQ(authenticity(standard_headers(), text + " "), Authenticity::no_matching_signature);
    EXPECT_EQ(authenticity(standard_headers(), text.substr(1)),
              Authenticity::no_matching_signature);
    EXPECT_EQ(authenticity(standard_headers(), ""), Authenticity::no_matching_signature);
    // The same JSON, written again by somebody else.
    EXPECT_EQ(authenticity(standard_headers(), R"({"type": "payment.received", "amount": 1250})"),
              Authenticity::no_matching_signature);
    EXPECT_EQ(authenticity(standard_headers("msg_3abc")), Authenticity::no_matching_signature);
    EXPECT_EQ(authenticity(standard_headers(message_id, "1704067201")),
              Authenticity::no_matching_signature);
}

// What is signed is "id.time.body"; with a dot in the id the parts could be cut differently.
TEST_F(StandardWebhooksTest, ASignatureCannotBeCutIntoAnotherMessage) {
    const std::vector<Header> signed_headers = scheme_.sign("a", "1704067200.5");
    EXPECT_EQ(
        authenticity(standard_headers("a.1704067200", timestamp, signed_headers[2].value), "5"),
        Authenticity::malformed);
    EXPECT_THROW(scheme_.sign("a.b", body), std::invalid_argument);
}

TEST_F(StandardWebhooksTest, TheWindowIsFiveMinutesInBothDirections) {
    const Instant signed_at = clock_.now();
    const auto at = [&](Duration offset) {
        clock_.set(signed_at + offset);
        return authenticity(standard_headers());
    };
    EXPECT_EQ(at(300s), Authenticity::ok);
    EXPECT_EQ(at(300s + 999'999us), Authenticity::ok);  // whole seconds count
    EXPECT_EQ(at(301s), Authenticity::timestamp_too_old);
    EXPECT_EQ(at(24h), Authenticity::timestamp_too_old);
    EXPECT_EQ(at(-300s), Authenticity::ok);
    EXPECT_EQ(at(-300s - 1us), Authenticity::timestamp_in_future);
    EXPECT_EQ(at(-301s), Authenticity::timestamp_in_future);
    EXPECT_EQ(at(-24h), Authenticity::timestamp_in_future);
}

TEST_F(StandardWebhooksTest, TheWindowCanBeSet) {
    const StandardWebhooks narrow({{"one", secret_one}}, {.tolerance = 10s, .clock = &clock_});
    clock_.advance(10s);
    EXPECT_EQ(narrow.verify(views(standard_headers()), body).authenticity, Authenticity::ok);
    clock_.advance(1s);
    EXPECT_EQ(narrow.verify(views(standard_headers()), body).authenticity,
              Authenticity::timestamp_too_old);
}

TEST_F(StandardWebhooksTest, OddTimestampsAreMalformed) {
    for (const char* text :
         {"0x65920080", "+1704067200", "-1704067200", " 1704067200", "1704067200 ", "01704067200",
          "1704067200.0", "1.7e9", "now", "1704067200\n", "１", "99999999999999999999999",
          "9223372036854775807"})
        EXPECT_EQ(authenticity(standard_headers(message_id, text)), Authenticity::malformed)
            << text;
    EXPECT_EQ(authenticity(standard_headers(message_id, "0")), Authenticity::timestamp_too_old);
    EXPECT_EQ(authenticity(standard_headers(message_id, "999999999999")),
              Authenticity::timestamp_in_future);
}

TEST_F(StandardWebhooksTest, OddMessageIdsAreMalformed) {
    for (const std::string& id :
         {std::string(" "), std::string("a b"), std::string("a\nb"), std::string("\0", 1),
          std::string("\xff"), std::string("ærø"), std::string(256, 'x')})
        EXPECT_EQ(authenticity(standard_headers(id)), Authenticity::malformed)
            << testing::PrintToString(id);
    const std::string longest(255, 'x');
    EXPECT_EQ(authenticity(scheme_.sign(longest, body)), Authenticity::ok);
    EXPECT_THROW(scheme_.sign(longest + "x", body), std::invalid_argument);
    EXPECT_THROW(scheme_.sign("", body), std::invalid_argument);
}

TEST_F(StandardWebhooksTest, AMissingEmptyOrRepeatedHeaderIsRefused) {
    EXPECT_EQ(scheme_.verify({}, body).authenticity, Authenticity::missing_header);
    for (std::size_t i = 0; i < 3; ++i) {
        std::vector<Header> headers = standard_headers();
        headers.erase(headers.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_EQ(authenticity(headers), Authenticity::missing_header) << i;
        headers = standard_headers();
        headers[i].value.clear();
        EXPECT_EQ(authenticity(headers), Authenticity::missing_header) << i;
        headers = standard_headers();
        headers.push_back(headers[i]);
        EXPECT_EQ(authenticity(headers), Authenticity::malformed) << i;
    }
}

TEST_F(StandardWebhooksTest, AnyOfSeveralSignaturesWillDo) {
    const std::string ours = signature_one;
    const std::string other = signature_two;
    EXPECT_EQ(result_of_signature(other), Authenticity::no_matching_signature);
    EXPECT_EQ(result_of_signature(other + " " + ours), Authenticity::ok);
    EXPECT_EQ(result_of_signature(ours + " " + other), Authenticity::ok);
    EXPECT_EQ(result_of_signature("v1a,anything " + other + " v2,x " + ours), Authenticity::ok);
}

TEST_F(StandardWebhooksTest, OtherVersionsAreIgnored) {
    const std::string digest = std::string(signature_one).substr(3);
    for (const char* version : {"v1a", "v2", "v0", "V1", "v10"})
        EXPECT_EQ(result_of_signature(std::string(version) + "," + digest),
                  Authenticity::unknown_version)
            << version;
}

TEST_F(StandardWebhooksTest, AGarbledSignatureListIsMalformed) {
    const std::string digest = std::string(signature_one).substr(3);
    for (const std::string& text :
         {digest,
          "v1" + digest,
          "v1;" + digest,
          "," + digest,
          "v1, " + digest,
          " v1," + digest,
          "v1," + digest + " ",
          "v1," + digest + "  v1," + digest,
          "v1," + digest + ",",
          "v1," + digest + ",v1," + digest,
          std::string("v1,"),
          std::string("v1"),
          std::string(" "),
          std::string("v1,!!!!"),
          "v1," + digest.substr(0, 43),         // no padding
          "v1," + digest.substr(0, 42) + "J=",  // stray bits behind the last byte
          "v1," + digest.substr(0, 40),         // too short
          "v1," + std::string(2, 'A') + digest + "==",
          "v1,_" + digest.substr(1),  // the other alphabet
          "v1,\n" + digest.substr(1)})
        EXPECT_EQ(result_of_signature(text), Authenticity::malformed) << text;
}

TEST_F(StandardWebhooksTest, TheNumberOfSignaturesIsLimited) {
    std::string list = signature_one;
    for (int i = 1; i < 16; ++i) list += std::string(" ") + signature_two;
    EXPECT_EQ(result_of_signature(list), Authenticity::ok);
    EXPECT_EQ(result_of_signature(list + " v9,x"), Authenticity::too_many_signatures);
}

TEST_F(StandardWebhooksTest, LongHeadersAreRefusedUnread) {
    const std::string megabyte(1'000'000, 'x');
    for (std::size_t i = 0; i < 3; ++i) {
        std::vector<Header> headers = standard_headers();
        headers[i].value = megabyte;
        EXPECT_EQ(authenticity(headers), Authenticity::header_too_large) << i;
    }
    EXPECT_EQ(result_of_signature(std::string(8192, ' ')), Authenticity::malformed);
    EXPECT_EQ(result_of_signature(std::string(8193, ' ')), Authenticity::header_too_large);
    // A header of somebody else may be as long as it likes.
    std::vector<Header> headers = standard_headers();
    headers.push_back({"cookie", megabyte});
    EXPECT_EQ(authenticity(headers), Authenticity::ok);
}

// Whatever comes in: an answer, never an exception, never ok.
TEST_F(StandardWebhooksTest, GarbageIsAnsweredWithAVerdict) {
    std::mt19937 random(20240101);
    constexpr std::string_view alphabet("v1,= \0\n.aA+/\xff_t;-9"sv);
    for (int round = 0; round < 20'000; ++round) {
        std::vector<Header> headers = standard_headers();
        std::string& value = headers[random() % 3].value;
        for (unsigned change = random() % 4 + 1; change > 0; --change) {
            const std::size_t place = random() % (value.size() + 1);
            const char c = alphabet[random() % alphabet.size()];
            if (random() % 2 == 0) {
                value.insert(place, 1, c);
            } else {
                value.erase(place, random() % 8);
            }
        }
        if (value == standard_headers()[0].value || value == standard_headers()[1].value ||
            value == standard_headers()[2].value)
            continue;
        ASSERT_NE(authenticity(headers), Authenticity::ok) << testing::PrintToString(value);
    }
}

TEST(StandardWebhooksKeys, BadSecretsAreRefusedWithoutBeingNamed) {
    for (const char* secret : {"", "whsec_", "not base64!",
                               "whsec_c2hvcnQ=", "whsk_cG9zdHJvb20tdGVzdC1rZXktbnVtYmVyLW9uZS4u",
                               "whsec_cG9zdHJvb20tdGVzdC1rZXktbnVtYmVyLW9uZS4u ",
                               "YW5vdGhlciBwb3N0cm9vbSBrZXksIDMyIGJ5dGVzISE"}) {
        try {
            const StandardWebhooks scheme({{"key", secret}});
            ADD_FAILURE() << "accepted: " << secret;
        } catch (const std::invalid_argument& complaint) {
            if (*secret != '\0') {
                EXPECT_EQ(std::string(complaint.what()).find(secret), std::string::npos);
            }
        }
    }
    const std::string longest(88, 'A');  // 66 bytes
    EXPECT_THROW(StandardWebhooks({{"key", longest}}), std::invalid_argument);
    EXPECT_NO_THROW(StandardWebhooks({{"key", longest.substr(0, 84)}}));  // 63 bytes
    EXPECT_NO_THROW(StandardWebhooks({{"key", longest.substr(0, 32)}}));  // 24 bytes
    EXPECT_THROW(StandardWebhooks({{"key", longest.substr(0, 28)}}), std::invalid_argument);
}

TEST(StandardWebhooksKeys, OptionsOfZeroAreRefused) {
    EXPECT_THROW(StandardWebhooks({{"k", secret_one}}, {.tolerance = 0s}), std::out_of_range);
    EXPECT_THROW(StandardWebhooks({{"k", secret_one}}, {.tolerance = -1s}), std::out_of_range);
    EXPECT_THROW(StandardWebhooks({{"k", secret_one}}, {.header_bytes_max = 0}), std::out_of_range);
    EXPECT_THROW(StandardWebhooks({{"k", secret_one}}, {.signatures_max = 0}), std::out_of_range);
}

TEST(StandardWebhooksClock, TheSystemClockIsTheDefault) {
    const StandardWebhooks scheme({{"one", secret_one}});
    EXPECT_EQ(scheme.verify(views(scheme.sign(message_id, body)), body).authenticity,
              Authenticity::ok);
    EXPECT_EQ(scheme.verify(views(standard_headers()), body).authenticity,
              Authenticity::timestamp_too_old);
}

}  // namespace
}  // namespace postroom::test
