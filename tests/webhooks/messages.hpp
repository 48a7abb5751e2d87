// Keys, a message and its signature, as all webhook tests use them. The signatures were computed
// with the npm package standardwebhooks and with openssl; peer_test.cpp repeats the first at run
// time.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/testing.hpp"
#include "postroom/webhooks.hpp"

namespace postroom::webhooks {

// How googletest prints them.
inline void PrintTo(Authenticity authenticity, std::ostream* out) {
    *out << to_string(authenticity);
}

}  // namespace postroom::webhooks

namespace postroom::test {

inline constexpr const char* secret_one = "whsec_cG9zdHJvb20tdGVzdC1rZXktbnVtYmVyLW9uZS4u";
inline constexpr const char* secret_two = "whsec_YW5vdGhlciBwb3N0cm9vbSBrZXksIDMyIGJ5dGVzISE=";
inline constexpr const char* stripe_secret = "whsec_postroom_stripe_style_secret";

inline constexpr const char* message_id = "msg_2abc";
inline constexpr const char* timestamp = "1704067200";  // 2024-01-01: when a ManualClock starts
inline constexpr const char* body = R"({"type":"payment.received","amount":1250})";
inline constexpr const char* signature_one = "v1,5BwuJHos6xIm08kLAcijV5oKRusNWIkQuNBvSi74CyI=";
inline constexpr const char* signature_two = "v1,UYuack67g5hIVuPO9Cz5i0+ewjNDOcG2PZpExOmKJVc=";
inline constexpr const char* stripe_digest =
    "f9244083ca1f88b780e65a6d7504ca5d0d1198acef88879f6f92e9afdbd119d5";

inline std::vector<webhooks::HeaderView> views(const std::vector<webhooks::Header>& headers) {
    std::vector<webhooks::HeaderView> result;
    for (const webhooks::Header& header : headers) result.push_back({header.name, header.value});
    return result;
}

inline std::vector<webhooks::Header> standard_headers(std::string id = message_id,
                                                      std::string seconds = timestamp,
                                                      std::string signature = signature_one) {
    return {{"webhook-id", std::move(id)},
            {"webhook-timestamp", std::move(seconds)},
            {"webhook-signature", std::move(signature)}};
}

// The text with one bit of the byte at `place` changed.
inline std::string flipped(std::string text, std::size_t place, unsigned bit = 0) {
    text.at(place) = static_cast<char>(static_cast<unsigned char>(text.at(place)) ^ (1U << bit));
    return text;
}

}  // namespace postroom::test
