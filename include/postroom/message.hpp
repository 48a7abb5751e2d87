// What goes into a queue (NewMessage, ReceivedMessage), what comes out (Message, Lease), and the
// limits; and the names that a message carries, TopicName and AggregateType.
//
// One spelling for each field here, in the SQL columns, in JSON and in the command line.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "postroom/clock.hpp"
#include "postroom/ids.hpp"

namespace postroom {

// An enum that has a to_name() of its own.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
    { to_name(value) } -> std::convertible_to<std::string_view>;
};

// Text in any of its usual types.
template <class S>
concept NameText = std::convertible_to<S, std::string_view> &&
    std::constructible_from<std::string, S> && !std::same_as<S, std::nullptr_t>;

// What TopicName and AggregateType share: names that say what they name, from text or from your own
// enum, which joins in with one function beside it, found by argument-dependent lookup:
//
//     enum class UserTopic { created, deleted };
//     constexpr std::string_view to_name(UserTopic topic) {
//         return topic == UserTopic::created ? "user.created" : "user.deleted";
//     }
//
//     outbox.enqueue({.topic = UserTopic::created, .payload = json});   // typed
//     outbox.enqueue({.topic = "user.renamed", .payload = json});       // dynamic
//
// Lengths and emptiness are checked where the name is used: validate(), enqueue(), on(). `Self`
// keeps them apart: they neither convert nor compare.
template <class Self>
class BasicName {
public:
    template <NameText S>
    constexpr BasicName(S text) : text_(std::move(text)) {}

    template <NamedEnum E>
    constexpr BasicName(E value) : text_(std::string_view(to_name(value))) {}

    constexpr const std::string& str() const& noexcept { return text_; }
    constexpr std::string str() && noexcept { return std::move(text_); }
    constexpr std::string_view view() const noexcept { return text_; }
    constexpr bool empty() const noexcept { return text_.empty(); }

    // Byte by byte, as the databases compare them.
    friend constexpr bool operator==(const Self& a, const Self& b) { return a.view() == b.view(); }
    friend constexpr auto operator<=>(const Self& a, const Self& b) {
        return a.view() <=> b.view();
    }

protected:
    constexpr BasicName() = default;

private:
    std::string text_;
};

// TopicName: the kind of a message; with the aggregate type it selects the handler. Empty by
// default, which no queue takes.
class TopicName : public BasicName<TopicName> {
public:
    constexpr TopicName() = default;
    using BasicName::BasicName;
};

// AggregateType: the kind of thing a message speaks of. global() by default.
class AggregateType : public BasicName<AggregateType> {
public:
    static constexpr std::string_view global_name = "__GLOBAL__";

    constexpr AggregateType() : BasicName(global_name) {}
    using BasicName::BasicName;

    static constexpr AggregateType global() { return {}; }
};

// The two queues of a store.
enum class Queue : std::uint8_t { outbox, inbox };
std::string_view to_string(Queue queue);

// The codes are those of the status column.
enum class State : std::uint8_t {
    ready = 0,        // claimable once available_at has come; inbox: "Processing"
    in_progress = 1,  // leased; inbox: "Processing"
    done = 2,
    dead = 3,  // outbox: "Failed"; inbox: "Dead"
    seen = 4,  // inbox only: known, not enqueued
};
// The name that the given queue's specification uses.
std::string_view state_name(Queue queue, State state);

// Why a message is dead. The text forms stand in the dead_reason column.
enum class DeadReason : std::uint8_t {
    none,
    failed,
    max_attempts,
    crash_limit,
    expired,
    cancelled,
    unreadable,
    restored,  // set aside after the database was restored
};
std::string_view to_string(DeadReason reason);
DeadReason dead_reason_from(std::string_view text);

using Headers = std::map<std::string, std::string>;

// Limits of the fields; lengths are Unicode code points, sizes are bytes.
struct Limits {
    std::size_t topic_chars = 255;
    std::size_t source_chars = 255;
    std::size_t message_id_chars = 36;         // outbox: ULID or UUID
    std::size_t inbox_message_id_chars = 255;  // inbox: whatever the sender uses
    std::size_t correlation_id_chars = 255;
    std::size_t tenant_id_chars = 255;
    std::size_t idempotency_key_chars = 255;
    std::size_t aggregate_type_chars = 255;
    std::size_t aggregate_id_chars = 255;
    std::size_t ordering_key_chars = 255;
    std::size_t content_type_chars = 255;
    std::size_t headers_bytes = std::size_t{64} * 1024;  // of all names and values together
    std::size_t hash_bytes = 1024;
    std::size_t max_payload_bytes = std::size_t{1024} * 1024;
    std::size_t max_error_chars = 4000;
    std::uint32_t batch_max = 10'000;             // of a claim, a purge, a reap
    Duration lease_max = std::chrono::hours{24};  // longer work renews its lease
    Duration delay_max = std::chrono::hours{24 * 3650};

    bool operator==(const Limits&) const = default;
};

// A message to be sent. Text fields hold UTF-8 without NUL; the payload holds any bytes.
struct NewMessage {
    TopicName topic{};
    std::optional<std::string> payload{};  // must be given; empty is a valid payload
    std::string content_type = "application/json";
    Headers headers{};
    MessageId message_id{};  // empty: a ULID is made. Given: it also serves as idempotency key
    std::string correlation_id{};   // empty: none
    std::string tenant_id{};        // carried along; scopes the idempotency key
    std::string idempotency_key{};  // empty: none. Given: a second message with it is not stored
    AggregateType aggregate_type = AggregateType::global();
    std::string aggregate_id{};
    std::string ordering_key{};  // those of one key go in order of seq, one at a time; no priority
    std::optional<Instant> occurred_at{};
    std::optional<Instant> due_time{};            // not claimable before; a past time means at once
    std::optional<Instant> expires_at{};          // dead instead of delivered from then on
    std::int32_t priority = 0;                    // above 0 goes first, below 0 goes last
    std::optional<std::uint32_t> max_attempts{};  // deliveries in total; none: the policy's
};

// The natural key of a received message. Compared byte by byte.
struct InboxKey {
    // Nothing converts to it: members are given by name, because two texts are easily swapped.
    struct ByName {
        explicit ByName() = default;
        friend auto operator<=>(const ByName&, const ByName&) = default;
    };

    [[no_unique_address]] ByName by_name = ByName{};
    std::string source{};
    std::string message_id{};

    friend auto operator<=>(const InboxKey&, const InboxKey&) = default;
};

// A message that arrived from elsewhere.
struct ReceivedMessage {
    TopicName topic{};
    std::string source{};
    std::string message_id{};
    std::optional<std::string> payload{};  // must be given; empty is a valid payload
    std::optional<std::string> hash{};     // bytes; compared with what was stored before
    std::string content_type = "application/json";
    Headers headers{};
    std::string ordering_key{};
    std::optional<Instant> due_time{};
    std::optional<Instant> expires_at{};
    std::int32_t priority = 0;
    std::optional<std::uint32_t> max_attempts{};

    InboxKey key() const { return {.source = source, .message_id = message_id}; }
};

// The right to settle one message, until `locked_until` of the database's clock.
struct Lease {
    WorkItemId id{};
    LeaseId lease_id{};
    OwnerToken owner{};
    Instant locked_until{};
    std::uint32_t retry_count = 0;  // failed attempts before this one; back-off is computed from it
};

// A message as stored. `lease` is set while somebody holds one.
struct Message {
    WorkItemId id{};
    Queue queue = Queue::outbox;
    State state = State::ready;
    MessageId message_id{};
    std::string topic{};
    std::string payload{};
    std::string content_type{};
    Headers headers{};
    std::string correlation_id{};
    std::string tenant_id{};
    std::string idempotency_key{};
    std::string aggregate_type{};
    std::string aggregate_id{};
    std::string ordering_key{};
    std::string source{};                // inbox
    std::optional<std::string> hash{};   // inbox
    Instant created_at{};                // inbox: first_seen
    std::optional<Instant> last_seen{};  // inbox
    Instant available_at{};              // the later of due_time and the next attempt
    std::optional<Instant> occurred_at{};
    std::optional<Instant> due_time{};
    std::optional<Instant> expires_at{};
    std::optional<Instant> processed_at{};
    std::string processed_by{};
    std::int32_t priority = 0;
    std::optional<std::uint32_t> max_attempts;
    std::uint32_t retry_count = 0;  // failed attempts
    std::uint32_t lost_count = 0;   // leases that ran out without an outcome
    std::string last_error{};
    DeadReason dead_reason = DeadReason::none;
    std::optional<Instant> died_at{};
    std::optional<Lease> lease{};
    // Of a message that was read without its payload: how long that is.
    std::optional<std::uint64_t> payload_left_out{};

    // Why its content could not be read; empty: it was. Of a claimed message there is nothing to
    // deliver then, and it is to end dead with this reason.
    std::string unreadable{};

    std::uint64_t payload_bytes() const { return payload_left_out.value_or(payload.size()); }
    // Inbox: what it is known by.
    InboxKey key() const { return {.source = source, .message_id = message_id.str()}; }
};

// Throw std::invalid_argument naming the field and the limit that `message` breaks.
void validate(const NewMessage& message, const Limits& limits);
void validate(const ReceivedMessage& message, const Limits& limits);
void validate(const InboxKey& key, const Limits& limits);

}  // namespace postroom
