#include "sql/outbox_columns.hpp"

namespace postroom::sql {

namespace {

std::optional<std::string_view> text_or_null(std::string_view text) {
    if (text.empty()) return std::nullopt;
    return text;
}

}  // namespace

bool needs_enqueue(const NewMessage& message) {
    return !message.idempotency_key.empty() || message.due_time.has_value() ||
           !message.ordering_key.empty() || message.priority < 0;
}

bool is_bare(const NewMessage& message) {
    static const NewMessage nothing_given;
    return message.content_type == nothing_given.content_type && message.headers.empty() &&
           message.correlation_id.empty() && message.tenant_id.empty() &&
           message.aggregate_type == nothing_given.aggregate_type && message.aggregate_id.empty() &&
           !message.occurred_at && !message.expires_at && message.priority == 0 &&
           !message.max_attempts && !needs_enqueue(message);
}

void set_born(Params& params, const BornLease* born) {
    if (born == nullptr) {
        params.set("born_owner", {}).set("born_lease_id", {}).set("born_us", {});
        return;
    }
    params.set("born_owner", born->owner.uuid())
        .set("born_lease_id", born->lease_id.value())
        .set("born_us", born->lease.count());
}

void set_bare(Params& params, const OutboxRow& row) {
    const NewMessage& m = *row.message;
    params.set("nonce", row.nonce)
        .set("message_id", m.message_id.str())
        .set("topic", m.topic.view())
        .set("payload", BlobView{*m.payload});
}

void set_message(Params& params, const OutboxRow& row) {
    const NewMessage& m = *row.message;
    params.reserve(21);  // with those of set_born()
    set_bare(params, row);
    params.set("content_type", m.content_type)
        .set_text_or_null("headers", row.headers)
        .set_text_or_null("correlation_id", m.correlation_id)
        .set("tenant_id", std::string_view(m.tenant_id))
        .set_text_or_null("idempotency_key", m.idempotency_key)
        .set_text_or_null("key", m.idempotency_key)
        .set("aggregate_type", m.aggregate_type.view())
        .set_text_or_null("aggregate_id", m.aggregate_id)
        .set_text_or_null("ordering_key", m.ordering_key)
        .set_or_null("occurred_at", m.occurred_at)
        .set_or_null("due_time", m.due_time)
        .set_or_null("expires_at", m.expires_at)
        .set("priority", std::int64_t{m.priority})
        .set("max_attempts", m.max_attempts ? Value{std::int64_t{*m.max_attempts}} : Value{});
}

OutboxColumns::OutboxColumns(std::span<const OutboxRow* const> rows, bool bare) : bare_(bare) {
    for (const OutboxRow* row : rows) add(*row);
}

void OutboxColumns::add(const OutboxRow& row) {
    const NewMessage& m = *row.message;
    nonce_.push_back(row.nonce);
    message_id_.emplace_back(m.message_id.str());
    topic_.emplace_back(m.topic.view());
    payload_.push_back({*m.payload});
    if (bare_) return;
    content_type_.emplace_back(m.content_type);
    headers_.push_back(text_or_null(row.headers));
    correlation_id_.push_back(text_or_null(m.correlation_id));
    tenant_id_.emplace_back(m.tenant_id);
    idempotency_key_.push_back(text_or_null(m.idempotency_key));
    aggregate_type_.emplace_back(m.aggregate_type.view());
    aggregate_id_.push_back(text_or_null(m.aggregate_id));
    ordering_key_.push_back(text_or_null(m.ordering_key));
    occurred_at_.push_back(m.occurred_at);
    expires_at_.push_back(m.expires_at);
    priority_.push_back(m.priority);
    // Zero stands for none: integer arrays hold no NULL.
    max_attempts_.push_back(m.max_attempts.value_or(0));
}

void OutboxColumns::set(Params& params) const {
    params.set("nonce", IntArray(nonce_))
        .set("message_id", TextArray(message_id_))
        .set("topic", TextArray(topic_))
        .set("payload", BlobArray(payload_));
    if (bare_) return;
    params.set("content_type", TextArray(content_type_))
        .set("headers", TextArray(headers_))
        .set("correlation_id", TextArray(correlation_id_))
        .set("tenant_id", TextArray(tenant_id_))
        .set("idempotency_key", TextArray(idempotency_key_))
        .set("aggregate_type", TextArray(aggregate_type_))
        .set("aggregate_id", TextArray(aggregate_id_))
        .set("ordering_key", TextArray(ordering_key_))
        .set("occurred_at", TimeArray(occurred_at_))
        .set("expires_at", TimeArray(expires_at_))
        .set("priority", IntArray(priority_))
        .set("max_attempts", IntArray(max_attempts_));
}

}  // namespace postroom::sql
