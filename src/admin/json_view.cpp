#include "admin/json_view.hpp"

#include <fmt/format.h>

#include "admin/dead_letters.hpp"
#include "admin/health.hpp"
#include "admin/state_words.hpp"
#include "base/json_map.hpp"
#include "base/json_writer.hpp"
#include "queue/message_json.hpp"

namespace postroom::admin {

namespace {

using base::JsonArray;
using base::JsonObject;

void add_identity(JsonObject& out, const Message& message) {
    // A string: a number of 58 bits does not survive every reader of JSON.
    out.add("id", message.id.to_string()).add("seq", fmt::format("{}", message.id.seq()));
    out.add("queue", to_string(message.queue)).add("state", state_word(message.state));
    out.add_text("message_id", message.message_id.str()).add("topic", message.topic);
    out.add_text("source", message.source).add_text("correlation_id", message.correlation_id);
    out.add_text("tenant_id", message.tenant_id);
    out.add_text("idempotency_key", message.idempotency_key);
    out.add_text("aggregate_type", message.aggregate_type);
    out.add_text("aggregate_id", message.aggregate_id);
    out.add_text("ordering_key", message.ordering_key).add("priority", message.priority);
}

void add_times(JsonObject& out, const Message& message) {
    out.add("created_at", message.created_at).add("available_at", message.available_at);
    out.add("occurred_at", message.occurred_at).add("due_time", message.due_time);
    out.add("expires_at", message.expires_at).add("last_seen", message.last_seen);
}

void add_lease(JsonObject& out, const Lease& lease) {
    out.add_json("lease", JsonObject()
                              .add("owner_token", lease.owner.to_string())
                              .add("locked_until", lease.locked_until)
                              .text());
}

void add_progress(JsonObject& out, const Message& message) {
    out.add("retry_count", message.retry_count).add("lost_count", message.lost_count);
    out.add("max_attempts", message.max_attempts);
    out.add_text("last_error", message.last_error);
    if (message.dead_reason != DeadReason::none)
        out.add("dead_reason", to_string(message.dead_reason));
    if (message.state == State::dead) out.add("fingerprint", fingerprint_of(message));
    out.add("died_at", message.died_at);
    out.add("processed_at", message.processed_at).add_text("processed_by", message.processed_by);
    if (message.lease) add_lease(out, *message.lease);
}

// append_payload_member() writes `"payload":...` or `"payload_base64":...`.
void add_payload(JsonObject& out, const Message& message) {
    out.add_json("headers", base::to_json(message.headers));
    std::string member;
    append_payload_member(member, message);
    const std::size_t colon = member.find("\":");
    out.add_json(member.substr(1, colon - 1), member.substr(colon + 2));
}

// What is the same of a circuit wherever it is named.
JsonObject circuit_object(const CircuitReport& circuit) {
    return JsonObject()
        .add("destination", circuit.destination)
        .add_text("error", circuit.error)
        .add("since", circuit.since)
        .add("next_probe", circuit.next_probe);
}

void add_waits_for(JsonObject& out, const std::optional<CircuitReport>& circuit) {
    if (circuit) out.add_json("waits_for", circuit_object(*circuit).text());
}

JsonObject message_object(const Message& message, bool paused, Payload payload) {
    JsonObject out;
    add_identity(out, message);
    add_times(out, message);
    add_progress(out, message);
    if (paused) out.add("paused", true);
    if (was_discarded(message)) out.add("discarded", true);
    out.add_text("content_type", message.content_type);
    out.add("payload_bytes", message.payload_bytes());
    if (payload == Payload::shown) add_payload(out, message);
    return out;
}

std::string attempts_view(const std::vector<FailedAttempt>& attempts) {
    JsonArray out;
    for (const FailedAttempt& attempt : attempts) out.add_json(json_of(attempt));
    return out.text();
}

std::string circuits_view(const std::vector<CircuitReport>& circuits) {
    JsonArray out;
    for (const CircuitReport& circuit : circuits)
        out.add_json(circuit_object(circuit).add_json("topics", texts_view(circuit.topics)).text());
    return out.text();
}

std::string rate(double per_second) { return fmt::format("{:.3f}", per_second); }

std::string paused_view(const std::vector<PausedTopic>& paused) {
    JsonArray topics;
    for (const PausedTopic& topic : paused)
        topics.add_json(
            JsonObject().add("topic", topic.topic).add("paused_at", topic.since).text());
    return topics.text();
}

}  // namespace

std::string texts_view(const std::vector<std::string>& texts) {
    JsonArray out;
    for (const std::string& text : texts) out.add(text);
    return out.text();
}

std::string json_of(const Message& message, Payload payload) {
    return message_object(message, false, payload).text();
}

std::string json_of(const FailedAttempt& attempt) {
    JsonObject out;
    out.add("at", attempt.at)
        .add("worker", attempt.worker.to_string())
        .add_text("destination", attempt.destination)
        .add("outcome", to_string(attempt.outcome))
        .add_text("error", attempt.error)
        .add("claimed_at", attempt.claimed_at);
    if (attempt.took) out.add("took_seconds", std::chrono::duration<double>(*attempt.took).count());
    return out.text();
}

std::string json_of(const MessageDetail& detail, Payload payload) {
    JsonObject out = message_object(detail.message, false, payload);
    add_waits_for(out, detail.waits_for);
    if (!detail.attempts.empty()) out.add_json("attempts", attempts_view(detail.attempts));
    return out.text();
}

std::string json_of(const ListedMessage& listed) {
    JsonObject out = message_object(listed.message, listed.paused, Payload::hidden);
    add_waits_for(out, listed.waits_for);
    return out.text();
}

std::string json_of(const MessagePage& page) {
    JsonArray out;
    for (const ListedMessage& listed : page.messages) out.add_json(json_of(listed));
    return out.text();
}

std::string json_of(const QueueStatus& status) {
    const Counts& counts = status.counts;
    JsonObject out;
    out.add("store", status.store)
        .add("queue", to_string(status.queue))
        .add("ready", counts.ready)
        .add("in_progress", counts.in_progress)
        .add("retrying", counts.retrying)
        .add("old_failures", counts.old_failures)
        .add("dead", counts.dead)
        .add("seen", counts.seen)
        .add("oldest", counts.oldest)
        .add("estimated", counts.estimated)
        .add_json("paused", paused_view(status.paused))
        .add("workers", std::uint64_t{status.workers.size()})
        .add_json("down", circuits_view(status.down));
    if (status.hold) out.add_json("hold", json_of(*status.hold));
    return out.text();
}

std::string json_of(const Explanation& explanation) {
    return JsonObject()
        .add("id", explanation.message.id.to_string())
        .add("state", state_word(explanation.message.state))
        .add("why", sentence_of(explanation))
        .text();
}

std::string json_of(const WorkerReport& worker) {
    return JsonObject()
        .add("owner_token", worker.owner.to_string())
        .add("queue", to_string(worker.queue))
        .add("host", worker.host)
        .add("pid", worker.pid)
        .add("version", worker.version)
        .add("started", worker.started)
        .add("last_seen", worker.last_seen)
        .add_json("topics", texts_view(worker.topics))
        .add_json("circuits", circuits_view(worker.circuits))
        .add("in_hand", worker.in_hand)
        .add_json("delivered_per_second", rate(worker.delivered_per_second))
        .add_json("failed_per_second", rate(worker.failed_per_second))
        .text();
}

std::string json_of(const AuditEntry& entry) {
    return JsonObject()
        .add("id", entry.id)
        .add("at", entry.at)
        .add("who", entry.who)
        .add("what", entry.what)
        .add("target", entry.target)
        .add("count", entry.count)
        .add("outcome", entry.outcome)
        .text();
}

std::string json_of(const PauseChange& change) {
    return JsonObject()
        .add("store", change.store)
        .add("topic", change.topic)
        .add("paused", change.paused())
        .add_text("paused_by", change.held_by.value_or(""))
        .add("changed", change.changed())
        .add("dry_run", change.dry_run)
        .text();
}

std::string json_of(const RestoreHold& hold) {
    return JsonObject().add("since", hold.since).add("why", hold.why).text();
}

std::string json_of(const RestoreReport& report) {
    const StoreHome& home = report.home;
    JsonObject out;
    out.add("store", report.store)
        .add("held", home.hold.has_value())
        .add_text("why", report.why.value_or(""))
        .add_text("incarnation", home.incarnation)
        .add("epoch", home.epoch)
        .add_text("place", home.place)
        .add_text("here", home.here);
    if (home.hold) out.add("held_since", home.hold->since);
    if (home.decided)
        out.add_json("decided", JsonObject()
                                    .add("what", home.decided->what)
                                    .add("who", home.decided->who)
                                    .add("at", home.decided->at)
                                    .text());
    return out.text();
}

std::string json_of(const RestoreResult& result) {
    return JsonObject()
        .add("store", result.store)
        .add("decision", verb_of(result.answer))
        .add("was_held", result.was_held)
        .add("matched", result.matched)
        .add("changed", result.changed)
        .add("left", result.left)
        .add("delivers", result.goes_on())
        .add("dry_run", result.dry_run)
        .text();
}

std::string json_of(Change change, const BulkResult& result, bool dry_run) {
    return JsonObject()
        .add("matched", result.matched)
        .add(participle_of(change), result.changed)
        .add("dry_run", dry_run)
        .text();
}

std::string json_of(const std::string& about, const Finding& finding) {
    return JsonObject()
        .add("about", about)
        .add("check", finding.check)
        .add("health", health_word(finding.health))
        .add("what", finding.what)
        .text();
}

}  // namespace postroom::admin
