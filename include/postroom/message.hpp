// What goes into a queue (NewMessage, ReceivedMessage), what comes out (Message, Lease), and the
// limits.
//
// One spelling for each field here, in the SQL columns, in JSON and in the command line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "postroom/clock.hpp"
#include "postroom/ids.hpp"
#include "postroom/topic.hpp"

namespace postroom {

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
    cancelled
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

    InboxKey key() const { return {source, message_id}; }
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
    std::optional<Lease> lease{};
};

// Throw std::invalid_argument naming the field and the limit that `message` breaks.
void validate(const NewMessage& message, const Limits& limits);
void validate(const ReceivedMessage& message, const Limits& limits);
void validate(const InboxKey& key, const Limits& limits);

}  // namespace postroom
