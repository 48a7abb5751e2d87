#include "postroom/ids.hpp"

#include "base/random.hpp"
#include "base/uuid.hpp"

namespace postroom {

Uuid WorkItemId::uuid() const { return base::pack_work_item(seq_, nonce_); }

std::optional<WorkItemId> WorkItemId::from(const Uuid& uuid) {
    const auto parts = base::unpack_work_item(uuid);
    if (!parts) return std::nullopt;
    return WorkItemId{parts->seq, parts->nonce};
}

std::optional<WorkItemId> WorkItemId::parse(std::string_view text) {
    const auto uuid = Uuid::parse(text);
    if (!uuid) return std::nullopt;
    return from(*uuid);
}

OwnerToken OwnerToken::generate() {
    base::SystemRandom random;
    // Version and variant bits are never zero, so the token is never nil.
    return OwnerToken{base::uuid_v4(random)};
}

}  // namespace postroom
