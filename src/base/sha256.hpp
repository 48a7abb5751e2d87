// SHA-256, HMAC-SHA-256, and a comparison that does not tell where two secrets differ.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace postroom::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

// Both throw std::runtime_error when the crypto library refuses, which no input causes.
Sha256Digest sha256(std::string_view bytes);
Sha256Digest hmac_sha256(std::string_view key, std::string_view bytes);

// The time taken depends on the length alone. Different lengths are unequal at once.
bool constant_time_equal(std::string_view a, std::string_view b);

}  // namespace postroom::base
