// The columns of a message row, in the order in which every dialect selects them.
#pragma once

#include "postroom/message.hpp"
#include "sql/connection.hpp"

namespace postroom::sql {

// seq, nonce, state, message_id, topic, payload, content_type, headers, correlation_id, tenant_id,
// idempotency_key, aggregate_type, aggregate_id, ordering_key, source, hash, created_at, last_seen,
// available_at, occurred_at, due_time, expires_at, processed_at, processed_by, priority,
// max_attempts, retry_count, lost_count, last_error, dead_reason, lease_id, owner, locked_until
inline constexpr std::string_view message_columns =
    "seq, nonce, state, message_id, topic, payload, content_type, headers, correlation_id, "
    "tenant_id, "
    "idempotency_key, aggregate_type, aggregate_id, ordering_key, source, hash, created_at, "
    "last_seen, "
    "available_at, occurred_at, due_time, expires_at, processed_at, processed_by, priority, "
    "max_attempts, "
    "retry_count, lost_count, last_error, dead_reason, lease_id, owner, locked_until";

Message read_message(Queue queue, const Row& row);

}  // namespace postroom::sql
