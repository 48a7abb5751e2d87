#include "adoption/classic_table.hpp"

#include <algorithm>

namespace postroom::adoption {

namespace {

std::string folded(std::string_view name) {
    std::string out;
    for (const char c : name)
        if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

}  // namespace

const std::vector<Field>& fields() {
    static const std::vector<Field> all = [] {
        std::vector<Field> out;
        const auto add = [&](Field::Kind kind, std::string_view names) {
            for (const std::string& name : split(names, ' ')) out.push_back({name, kind});
        };
        add(Field::Kind::text,
            "id topic payload message_id content_type headers correlation_id tenant_id "
            "idempotency_key aggregate_type aggregate_id ordering_key");
        add(Field::Kind::number, "priority max_attempts");
        add(Field::Kind::time, "occurred_at due_time expires_at created_at next_attempt_at");
        add(Field::Kind::state,
            "status is_processed processed_at locked_until locked_at retry_count");
        return out;
    }();
    return all;
}

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all{
        {.name = "outbox",
         .table = "Outbox",
         .what = "Topic, Payload, Status (0 ready, 1 in progress, 2 done, 3 failed), LockedUntil",
         .columns = "id=Id topic=Topic payload=Payload message_id=MessageId status=Status "
                    "correlation_id=CorrelationId created_at=CreatedAt due_time=DueTimeUtc|DueTime "
                    "next_attempt_at=NextAttemptAt is_processed=IsProcessed "
                    "processed_at=ProcessedAt locked_until=LockedUntil retry_count=RetryCount",
         .pending = {"0", "1"},
         .dead = {"3"},
         .finished = "2"},
        {.name = "outbox_event",
         .table = "outbox_event",
         .what = "event_id, event_type, payload, status (0 new, 1 done, 2 retry, 3 dead)",
         .columns = "id=event_id topic=event_type payload=payload headers=headers "
                    "aggregate_type=aggregate_type aggregate_id=aggregate_id tenant_id=tenant_id "
                    "created_at=created_at next_attempt_at=available_at status=status "
                    "processed_at=done_at locked_at=locked_at retry_count=attempts",
         .pending = {"0", "2"},
         .dead = {"3"},
         .finished = "1"},
        {.name = "outbox_events",
         .table = "OutboxEvents",
         .what = "EventType, EventData, IsProcessed, RetryCount, MaxRetries, NextRetryAt",
         .columns = "id=Id topic=EventType payload=EventData created_at=CreatedAt "
                    "is_processed=IsProcessed processed_at=ProcessedAt retry_count=RetryCount "
                    "max_attempts=MaxRetries next_attempt_at=NextRetryAt",
         .max_attempts = 3},
        {.name = "outbox_messages",
         .table = "OutboxMessages",
         .what = "TenantId, EventType or Name, Payload, IdempotencyKey, ProcessedAt, RetryCount",
         .columns = "id=Id tenant_id=TenantId topic=EventType|Name payload=Payload "
                    "idempotency_key=IdempotencyKey created_at=CreatedAt is_processed=IsProcessed "
                    "processed_at=ProcessedAt retry_count=RetryCount",
         .max_attempts = 5}};
    return all;
}

std::vector<std::string> split(std::string_view text, char mark) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(mark), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::string find_column(std::span<const std::string> columns, std::string_view wanted) {
    if (std::ranges::find(columns, wanted) != columns.end()) return std::string(wanted);
    const auto found = std::ranges::find(columns, folded(wanted), folded);
    return found == columns.end() ? "" : *found;
}

void map_columns(const Shape& shape, std::span<const std::string> columns, ClassicTable& table) {
    for (const std::string& meaning : split(shape.columns, ' ')) {
        const std::size_t equals = meaning.find('=');
        for (const std::string& name : split(meaning.substr(equals + 1), '|')) {
            const std::string found = find_column(columns, name);
            if (!found.empty()) table.columns.emplace(meaning.substr(0, equals), found);
        }
    }
}

}  // namespace postroom::adoption
