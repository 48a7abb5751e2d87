// Idempotency keys that come out the same each time the same thing is announced.
//
// Use one when a message has an identity of its own in the business ("order 17 was placed, version
// 3"): a producer that runs twice then stores one message. Without such an identity leave the key
// empty.
//
//     message.idempotency_key = deterministic_key("acme", "order", "17", "placed",
//     "3").to_string();
//
// The recipe is easy to repeat in any language:
//   1. in each part: A-Z become a-z (ASCII only), '\' becomes '\\', ':' becomes '\:'
//   2. join the parts with ':'
//   3. SHA-256 of those bytes; the first 16 bytes of the digest, as they are, are the UUID
// No version or variant bits are set. Part lists that differ in more than ASCII case have different
// texts, whatever the parts hold: ("a:b") and ("a", "b"), ("a", "") and ("a").
//
// A note for .NET: `new Guid(byte[])` reads the first three groups in little-endian order, so the
// same 16 bytes print differently there: bytes 00112233 4455 6677 8899 aabbccddeeff are
// 00112233-4455-6677-8899-aabbccddeeff here and 33221100-5544-7766-8899-aabbccddeeff there. Swap
// the first four, the next two and the next two bytes before the call (or pass `bigEndian: true`,
// .NET 8).
//
// Thread safety: pure functions.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "postroom/ids.hpp"

namespace postroom {

// The key of any list of parts. Throws std::invalid_argument for an empty list: nothing has no
// identity.
Uuid deterministic_key(std::span<const std::string_view> parts);
Uuid deterministic_key(std::initializer_list<std::string_view> parts);

// The usual five: whose, what kind of thing, which one, what happened to it, which time. The
// version may be a sequence number, a time bucket or a correlation id.
Uuid deterministic_key(std::string_view tenant_id, std::string_view category,
                       std::string_view entity_id, std::string_view kind,
                       std::string_view version = "0");

// UUID version 5 (RFC 9562): SHA-1 of namespace and name. For systems that already derive their
// keys so; it prints the same everywhere.
Uuid name_based_key(const Uuid& name_space, std::string_view name);

}  // namespace postroom
