// UUIDs beyond reading and printing: random (v4), name-based (v5), and the packed work-item id
// (v8).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "postroom/clock.hpp"
#include "postroom/ids.hpp"

namespace postroom::base {

// RFC 9562 version 4: 122 random bits.
Uuid uuid_v4(Random& random);

// RFC 9562 version 5: SHA-1 of the namespace's bytes and the name's bytes.
Uuid uuid_v5(const Uuid& name_space, std::string_view name);

// When it was made, where it tells: version 7, or 1; nothing for a text that is none of these.
std::optional<Instant> uuid_time(std::string_view text);

// A work-item id says where a row is (`seq`) and which row of that number is meant (`nonce`): a
// promoted standby may hand out the same seq again. Both travel in one UUID, version 8:
//
//     bits 127..80  seq 57..10
//     bits  79..76  version 8
//     bits  75..64  seq 9..0, nonce 63..62
//     bits  63..62  variant 10
//     bits  61..0   nonce 61..0
//
// So ids sort by seq.
struct WorkItemParts {
    std::uint64_t seq = 0;
    std::uint64_t nonce = 0;

    friend bool operator==(const WorkItemParts&, const WorkItemParts&) = default;
};

inline constexpr std::uint64_t work_item_seq_max = (std::uint64_t{1} << 58) - 1;

// Throws std::out_of_range for a seq above work_item_seq_max.
Uuid pack_work_item(std::uint64_t seq, std::uint64_t nonce);

// Nothing for a UUID of another version or variant: it is no work-item id.
std::optional<WorkItemParts> unpack_work_item(const Uuid& id);

}  // namespace postroom::base
