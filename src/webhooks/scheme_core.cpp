#include "webhooks/scheme_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "postroom/error.hpp"

namespace postroom::webhooks {

namespace {

std::string_view bytes_of(const base::Sha256Digest& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

void check(const SchemeOptions& options) {
    if (options.tolerance <= Duration::zero())
        throw std::out_of_range("webhooks: tolerance must be above zero");
    if (options.header_bytes_max == 0)
        throw std::out_of_range("webhooks: header_bytes_max must be above zero");
    if (options.signatures_max == 0)
        throw std::out_of_range("webhooks: signatures_max must be above zero");
}

}  // namespace

Scheme::Core::Core(std::span<const Key> keys, const SchemeOptions& options, DecodeSecret decode)
    : options_(options),
      decode_(decode),
      clock_(options.clock != nullptr ? *options.clock : system_clock_) {
    check(options_);
    if (keys.empty()) throw std::invalid_argument("webhooks: at least one key is needed");
    for (const Key& key : keys) add_key(key);
}

void Scheme::Core::add_key(const Key& key) {
    if (key.name.empty()) throw std::invalid_argument("webhooks: a key needs a name");
    std::string secret = decode_(key.secret);
    const base::MutexLock lock(mutex_);
    if (std::any_of(keys_.begin(), keys_.end(),
                    [&](const Key& other) { return other.name == key.name; }))
        throw std::invalid_argument(fmt::format("webhooks: the key \"{}\" exists", key.name));
    if (keys_.size() >= keys_max)
        throw std::invalid_argument(fmt::format("webhooks: more than {} keys", keys_max));
    keys_.push_back({key.name, std::move(secret)});
}

bool Scheme::Core::revoke_key(std::string_view name) {
    const base::MutexLock lock(mutex_);
    return std::erase_if(keys_, [&](const Key& key) { return key.name == name; }) > 0;
}

std::vector<Key> Scheme::Core::keys() const {
    const base::MutexLock lock(mutex_);
    return keys_;
}

std::chrono::sys_seconds Scheme::Core::now() const {
    return std::chrono::floor<std::chrono::seconds>(clock_.now());
}

Authenticity Scheme::Core::judge_time(std::chrono::sys_seconds signed_at) const {
    const std::chrono::sys_seconds present = now();
    if (present - signed_at > options_.tolerance) return Authenticity::timestamp_too_old;
    if (signed_at - present > options_.tolerance) return Authenticity::timestamp_in_future;
    return Authenticity::ok;
}

std::vector<base::Sha256Digest> Scheme::Core::sign(std::string_view content) const {
    std::vector<base::Sha256Digest> digests;
    for (const Key& key : keys()) digests.push_back(base::hmac_sha256(key.secret, content));
    if (digests.empty())
        throw Error(ErrorKind::misuse, "webhooks: cannot sign, all keys are revoked");
    return digests;
}

std::optional<std::string> Scheme::Core::matching_key(
    std::string_view content, std::span<const std::string> signatures) const {
    std::optional<std::string> name;
    // No way out at the first match: the time would tell which of the keys is in use.
    for (const Key& key : keys()) {
        const base::Sha256Digest expected = base::hmac_sha256(key.secret, content);
        bool matches = false;
        for (const std::string& signature : signatures)
            matches |= base::constant_time_equal(bytes_of(expected), signature);
        if (matches && !name) name = key.name;
    }
    return name;
}

Scheme::Scheme(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Scheme::~Scheme() = default;

void Scheme::add_key(const Key& key) { core_->add_key(key); }
bool Scheme::revoke_key(std::string_view name) { return core_->revoke_key(name); }

}  // namespace postroom::webhooks
