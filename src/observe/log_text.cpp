#include "observe/log_text.hpp"

#include "base/assert.hpp"
#include "observe/log_line.hpp"

namespace postroom {

namespace {

// The names the line's reader may look the message up by.
void add_identity(LogLine& line, const Message& message) {
    if (message.id != WorkItemId{}) line.add("id", message.id.to_string());
    line.add("message_id", message.message_id.str());
    if (message.queue == Queue::inbox) line.add("source", message.source);
    line.add("topic", message.topic);
}

// A message without an idempotency key is told from its copies by its id.
void add_key(LogLine& line, const Message& message) {
    const bool own = !message.idempotency_key.empty();
    line.add("key", own ? message.idempotency_key : message.message_id.str());
}

void add_enqueued(LogLine& line, const Event& event) {
    if (event.message == nullptr) {
        line.add("count", event.count);
        return;
    }
    add_identity(line, *event.message);
    if (event.queue == Queue::outbox) line.add("correlation_id", event.message->correlation_id);
}

void add_processed(LogLine& line, const Message& message) {
    line.add("processed", message.state == State::done ? "yes" : "no");
}

void add_duplicate(LogLine& line, const Event& event) {
    if (event.message == nullptr) return;
    line.add("tenant", event.message->tenant_id);
    add_key(line, *event.message);
    add_enqueued(line, event);
    if (event.queue == Queue::inbox) add_processed(line, *event.message);
}

void add_checked(LogLine& line, const Event& event) {
    if (event.message == nullptr) return;
    add_identity(line, *event.message);
    add_processed(line, *event.message);
}

// Of the events that concern one message.
void add_message(LogLine& line, const Event& event) {
    if (event.message == nullptr) return;
    add_identity(line, *event.message);
    add_key(line, *event.message);
}

// Where a message went; a handler of the application has no name.
void add_destination(LogLine& line, const Event& event) {
    if (!event.destination.empty()) line.add("destination", event.destination);
}

void add_details(LogLine& line, const Event& event) {
    switch (event.kind) {
        case EventKind::delivered:
            add_destination(line, event);
            line.add("duration_ms", event.duration);
            return;
        case EventKind::retried:
            add_destination(line, event);
            line.add("retry", event.attempts).add("max", event.max_attempts);
            line.add("delay_ms", event.delay).add("error", event.error);
            return;
        case EventKind::dead:
            add_destination(line, event);
            line.add("reason", to_string(event.reason)).add("error", event.error);
            return;
        case EventKind::released:
            line.add("delay_ms", event.delay).add("error", event.error);
            return;
        case EventKind::interceptor_failed:
            line.add("error", event.error);
            return;
        default:
            return;
    }
}

}  // namespace

std::optional<LogForm> log_form_of(const Event& event) {
    using Form = LogForm;
    const bool some = event.count > 0;
    switch (event.kind) {
        case EventKind::enqueued:
            return Form{LogLevel::info, "ENQUEUE", true};
        case EventKind::duplicate:
            return Form{LogLevel::info, "WORKER_DUPLICATE", true};
        case EventKind::checked:
            return Form{LogLevel::debug, "CHECK"};
        case EventKind::hot_enqueued:
            return Form{LogLevel::debug, "HOT_ENQUEUE"};
        case EventKind::hot_dropped:
            return Form{LogLevel::warning, "HOT_DROP"};
        case EventKind::cold_enqueued:
            return Form{LogLevel::debug, "COLD_ENQUEUE"};
        case EventKind::claimed:
            return Form{LogLevel::debug, "WORKER_FETCH"};
        case EventKind::started:
            return Form{LogLevel::debug, "WORKER_DISPATCH_START"};
        case EventKind::delivered:
            return Form{LogLevel::info, "WORKER_DISPATCH_SUCCESS", true};
        case EventKind::retried:
            return Form{LogLevel::error, "WORKER_DISPATCH_FAIL"};
        case EventKind::dead:
            return Form{LogLevel::error, "WORKER_DEAD"};
        case EventKind::released:
            return Form{LogLevel::debug, "WORKER_RELEASE"};
        case EventKind::unroutable:
            return Form{LogLevel::warning, "WORKER_UNROUTABLE"};
        case EventKind::lost:
            return Form{LogLevel::warning, "WORKER_SKIP_PROCESSED"};
        case EventKind::reaped:
            return some ? std::optional(Form{LogLevel::info, "WORKER_REAP"}) : std::nullopt;
        case EventKind::purged:
            return some ? std::optional(Form{LogLevel::info, "WORKER_PURGE"}) : std::nullopt;
        case EventKind::circuit_opened:
            return Form{LogLevel::warning, "WORKER_CIRCUIT_OPEN"};
        case EventKind::circuit_closed:
            return Form{LogLevel::info, "WORKER_CIRCUIT_CLOSE"};
        case EventKind::interceptor_failed:
            return Form{LogLevel::error, "WORKER_INTERCEPTOR_FAIL"};
        case EventKind::hash_mismatch:
            return Form{LogLevel::warning, "HASH_MISMATCH"};
        case EventKind::store_failed:
            return Form{LogLevel::error, "STORE_FAIL"};
        case EventKind::store_waits:
            return Form{LogLevel::warning, "STORE_WAIT"};
        case EventKind::queue_depths:
        case EventKind::oldest_lag:
            return std::nullopt;  // figures to be read, not news
    }
    POSTROOM_ASSERT(false && "an EventKind outside its enum");
    return std::nullopt;
}

std::string log_name(Queue queue, std::string_view name) {
    return std::string(queue == Queue::outbox ? "OUTBOX_" : "INBOX_").append(name);
}

std::string log_text(const Event& event, const LogForm& form, std::size_t max_value_chars) {
    LogLine line(log_name(event.queue, form.name), max_value_chars);
    line.add("store", event.store);
    switch (event.kind) {
        case EventKind::enqueued:
            add_enqueued(line, event);
            break;
        case EventKind::duplicate:
            add_duplicate(line, event);
            break;
        case EventKind::checked:
            add_checked(line, event);
            break;
        case EventKind::hot_enqueued:
        case EventKind::hot_dropped:
        case EventKind::cold_enqueued:
        case EventKind::reaped:
        case EventKind::purged:
            line.add("count", event.count);
            break;
        case EventKind::claimed:
            line.add("count", event.count).add("duration_ms", event.duration);
            break;
        case EventKind::circuit_opened:
            line.add("destination", event.destination).add("delay_ms", event.delay);
            line.add("error", event.error);
            break;
        case EventKind::circuit_closed:
            line.add("destination", event.destination);
            break;
        case EventKind::store_failed:
            line.add("operation", event.operation).add("error", event.error);
            // Of an outage that lasts: what happened since the line before.
            if (event.count > 1) line.add("failures", event.count).add("outage_ms", event.duration);
            break;
        case EventKind::store_waits:
            line.add("operation", event.operation).add("unanswered_ms", event.duration);
            break;
        default:
            add_message(line, event);
            add_details(line, event);
    }
    return line.text();
}

}  // namespace postroom
