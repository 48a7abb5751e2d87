#include "sql/message_row.hpp"

#include "base/json_map.hpp"

namespace postroom::sql {

namespace {

// The position of each column; the order of message_columns.
enum Column : int {
    seq,
    nonce,
    state,
    message_id,
    topic,
    payload,
    content_type,
    headers,
    correlation_id,
    tenant_id,
    idempotency_key,
    aggregate_type,
    aggregate_id,
    ordering_key,
    source,
    hash,
    created_at,
    last_seen,
    available_at,
    occurred_at,
    due_time,
    expires_at,
    processed_at,
    processed_by,
    priority,
    max_attempts,
    retry_count,
    lost_count,
    last_error,
    dead_reason,
    lease_id,
    owner,
    locked_until
};

std::string text(const Row& row, Column column) { return std::string(row.text(column)); }

std::optional<Instant> time(const Row& row, Column column) {
    if (row.null(column)) return std::nullopt;
    return row.time(column);
}

std::uint32_t count(const Row& row, Column column) {
    return static_cast<std::uint32_t>(row.integer(column));
}

// A foreign writer may have stored headers that are not an object; the message is delivered all the
// same, with the text in one header, so that nobody has to guess why they are gone.
Headers read_headers(const Row& row) {
    const std::string_view json = row.text(headers);
    if (json.empty()) return {};
    if (auto parsed = base::map_from_json(json)) return *std::move(parsed);
    return {{"postroom-unreadable-headers", std::string(json)}};
}

void read_optional(const Row& row, Message& m) {
    if (!row.null(headers)) m.headers = read_headers(row);
    if (!row.null(hash)) m.hash = std::string(row.blob(hash));
    if (!row.null(max_attempts)) m.max_attempts = count(row, max_attempts);
    if (!row.null(lease_id)) {
        m.lease = Lease{.id = m.id,
                        .lease_id = LeaseId(row.integer(lease_id)),
                        .owner = OwnerToken(row.uuid(owner)),
                        .locked_until = row.time(locked_until),
                        .retry_count = m.retry_count};
    }
}

}  // namespace

Message read_message(Queue queue, const Row& row) {
    Message m;
    m.id = WorkItemId(static_cast<std::uint64_t>(row.integer(seq)),
                      static_cast<std::uint64_t>(row.integer(nonce)));
    m.queue = queue;
    m.state = static_cast<State>(row.integer(state));
    m.message_id = MessageId(text(row, message_id));
    m.topic = text(row, topic);
    m.payload = std::string(row.blob(payload));
    m.content_type = text(row, content_type);
    m.correlation_id = text(row, correlation_id);
    m.tenant_id = text(row, tenant_id);
    m.idempotency_key = text(row, idempotency_key);
    m.aggregate_type = text(row, aggregate_type);
    m.aggregate_id = text(row, aggregate_id);
    m.ordering_key = text(row, ordering_key);
    m.source = text(row, source);
    m.created_at = row.time(created_at);
    m.last_seen = time(row, last_seen);
    m.available_at = row.time(available_at);
    m.occurred_at = time(row, occurred_at);
    m.due_time = time(row, due_time);
    m.expires_at = time(row, expires_at);
    m.processed_at = time(row, processed_at);
    m.processed_by = text(row, processed_by);
    m.priority = static_cast<std::int32_t>(row.integer(priority));
    m.retry_count = count(row, retry_count);
    m.lost_count = count(row, lost_count);
    m.last_error = text(row, last_error);
    m.dead_reason = dead_reason_from(row.text(dead_reason));
    read_optional(row, m);
    return m;
}

}  // namespace postroom::sql
