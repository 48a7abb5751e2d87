#include "base/sha256.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <limits>
#include <stdexcept>

namespace postroom::base {

Sha256Digest sha256(std::string_view bytes) {
    Sha256Digest digest{};
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
        throw std::runtime_error("sha256: OpenSSL could not compute the digest");
    return digest;
}

Sha256Digest hmac_sha256(std::string_view key, std::string_view bytes) {
    // OpenSSL counts the bytes of a key in an int.
    if (key.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw std::invalid_argument("hmac_sha256: the key is longer than 2 GiB");
    // OpenSSL refuses null pointers even where there is nothing to read; an empty view may be one.
    if (key.data() == nullptr) key = "";
    if (bytes.data() == nullptr) bytes = "";
    Sha256Digest digest{};
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(),
             digest.data(), nullptr) == nullptr)
        throw std::runtime_error("hmac_sha256: OpenSSL could not compute the digest");
    return digest;
}

bool constant_time_equal(std::string_view a, std::string_view b) {
    return a.size() == b.size() && (a.empty() || CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace postroom::base
