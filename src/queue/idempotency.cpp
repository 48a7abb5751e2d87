#include "postroom/idempotency.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "base/sha256.hpp"
#include "base/uuid.hpp"

namespace postroom {

namespace {

constexpr char separator = ':';
constexpr char escape = '\\';

// std::tolower() asks the locale; a key must not depend on it.
constexpr char ascii_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

void append_part(std::string& text, std::string_view part) {
    for (const char c : part) {
        if (c == separator || c == escape) text.push_back(escape);
        text.push_back(ascii_lower(c));
    }
}

std::string canonical_text(std::span<const std::string_view> parts) {
    std::string text;
    append_part(text, parts.front());
    for (const std::string_view part : parts.subspan(1)) {
        text.push_back(separator);
        append_part(text, part);
    }
    return text;
}

}  // namespace

Uuid deterministic_key(std::span<const std::string_view> parts) {
    if (parts.empty()) throw std::invalid_argument("deterministic_key: needs at least one part");
    const base::Sha256Digest digest = base::sha256(canonical_text(parts));
    Uuid key;
    std::copy_n(digest.begin(), key.bytes.size(), key.bytes.begin());
    return key;
}

Uuid deterministic_key(std::initializer_list<std::string_view> parts) {
    return deterministic_key(std::span(parts.begin(), parts.size()));
}

Uuid deterministic_key(std::string_view tenant_id, std::string_view category,
                       std::string_view entity_id, std::string_view kind,
                       std::string_view version) {
    const std::array parts{tenant_id, category, entity_id, kind, version};
    return deterministic_key(std::span<const std::string_view>(parts));
}

Uuid name_based_key(const Uuid& name_space, std::string_view name) {
    return base::uuid_v5(name_space, name);
}

}  // namespace postroom
