// Strong identifiers: a work-item id cannot be passed where an owner token is wanted.
//
// WorkItemId names one row of a queue; it is what claim, ack, abandon and fail speak of. MessageId
// names the message itself, stays the same across retries, and is what a receiver deduplicates by.
// OwnerToken names a worker process. LeaseId names one claim: settling with an old lease id changes
// nothing.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace postroom {

struct Uuid {
    std::array<std::uint8_t, 16> bytes{};

    bool is_nil() const { return *this == Uuid{}; }
    // Canonical lower-case form, 36 characters.
    std::string to_string() const;
    // Accepts the canonical form in either case; anything else is nullopt.
    static std::optional<Uuid> parse(std::string_view text);

    friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

// A row of a queue: the database's sequence number and a random nonce of the row. Both are checked
// on every use, because a database restored or promoted behind its time hands out the same sequence
// numbers again. Its text form is a UUID of version 8 holding 58 bits of sequence and 64 bits of
// nonce.
class WorkItemId {
public:
    static constexpr std::uint64_t seq_max = (std::uint64_t{1} << 58) - 1;

    WorkItemId() = default;
    WorkItemId(std::uint64_t seq, std::uint64_t nonce) : seq_(seq), nonce_(nonce) {}

    std::uint64_t seq() const { return seq_; }
    std::uint64_t nonce() const { return nonce_; }
    Uuid uuid() const;
    std::string to_string() const { return uuid().to_string(); }
    // nullopt when `uuid` was not made by us.
    static std::optional<WorkItemId> from(const Uuid& uuid);
    static std::optional<WorkItemId> parse(std::string_view text);

    friend auto operator<=>(const WorkItemId&, const WorkItemId&) = default;

private:
    std::uint64_t seq_ = 0;
    std::uint64_t nonce_ = 0;
};

// Stable across retries. Outbox: a ULID unless the caller gives one; inbox: given by the sender.
class MessageId {
public:
    MessageId() = default;
    explicit MessageId(std::string text) : text_(std::move(text)) {}

    const std::string& str() const { return text_; }
    bool empty() const { return text_.empty(); }

    friend auto operator<=>(const MessageId&, const MessageId&) = default;

private:
    std::string text_;
};

// 128 random bits per worker process. The nil token is refused wherever a token is taken.
class OwnerToken {
public:
    OwnerToken() = default;
    explicit OwnerToken(const Uuid& uuid) : uuid_(uuid) {}

    // A new random token.
    static OwnerToken generate();

    const Uuid& uuid() const { return uuid_; }
    bool is_nil() const { return uuid_.is_nil(); }
    std::string to_string() const { return uuid_.to_string(); }

    friend auto operator<=>(const OwnerToken&, const OwnerToken&) = default;

private:
    Uuid uuid_;
};

// 64 random bits per claim, made by the claimer: a counter of the database may restart after a
// crash.
class LeaseId {
public:
    LeaseId() = default;
    explicit LeaseId(std::int64_t value) : value_(value) {}

    std::int64_t value() const { return value_; }

    friend auto operator<=>(const LeaseId&, const LeaseId&) = default;

private:
    std::int64_t value_ = 0;
};

}  // namespace postroom

template <>
struct std::hash<postroom::WorkItemId> {
    std::size_t operator()(const postroom::WorkItemId& id) const noexcept {
        return std::hash<std::uint64_t>{}(id.seq() ^ (id.nonce() * 0x9e3779b97f4a7c15U));
    }
};
