#include "cli/output/message_view.hpp"

#include <fmt/format.h>

#include <array>

#include "base/json_map.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "postroom/store_controls.hpp"
#include "queue/message_json.hpp"

namespace postroom::cli {

namespace {

constexpr std::array states{
    std::pair{State::ready, "ready"}, std::pair{State::in_progress, "in_progress"},
    std::pair{State::done, "done"}, std::pair{State::dead, "dead"}, std::pair{State::seen, "seen"}};

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
    out.add("processed_at", message.processed_at).add_text("processed_by", message.processed_by);
    if (message.lease) add_lease(out, *message.lease);
}

// append_payload_member() writes `"payload":...` or `"payload_base64":...`.
void add_payload(JsonObject& out, const Message& message) {
    std::string member;
    append_payload_member(member, message);
    const std::size_t colon = member.find("\":");
    out.add_json(member.substr(1, colon - 1), member.substr(colon + 2));
}

}  // namespace

std::string state_word(State state) {
    for (const auto& [known, word] : states)
        if (known == state) return word;
    return "unknown";
}

std::optional<State> state_from(const std::string& word) {
    for (const auto& [state, known] : states)
        if (known == word) return state;
    return std::nullopt;
}

std::vector<std::string> state_words() {
    std::vector<std::string> words;
    for (const auto& [state, word] : states) words.emplace_back(word);
    return words;
}

std::string message_view_json(const Message& message, bool with_payload, bool paused) {
    JsonObject out;
    out.add("id", message.id.to_string()).add("seq", message.id.seq());
    out.add("queue", to_string(message.queue)).add("state", state_word(message.state));
    out.add_text("message_id", message.message_id.str()).add("topic", message.topic);
    out.add_text("source", message.source).add_text("correlation_id", message.correlation_id);
    out.add_text("tenant_id", message.tenant_id);
    out.add_text("idempotency_key", message.idempotency_key);
    out.add_text("aggregate_type", message.aggregate_type);
    out.add_text("aggregate_id", message.aggregate_id);
    out.add_text("ordering_key", message.ordering_key).add("priority", message.priority);
    out.add("created_at", message.created_at).add("available_at", message.available_at);
    out.add("occurred_at", message.occurred_at).add("due_time", message.due_time);
    out.add("expires_at", message.expires_at).add("last_seen", message.last_seen);
    add_progress(out, message);
    if (paused) out.add("paused", true);
    if (was_discarded(message)) out.add("discarded", true);
    out.add_text("content_type", message.content_type);
    out.add("payload_bytes", std::uint64_t{message.payload.size()});
    if (with_payload) {
        out.add_json("headers", base::to_json(message.headers));
        add_payload(out, message);
    }
    return out.text();
}

Table message_table() {
    return Table({"ID", "STATE", "TOPIC", "MESSAGE_ID", "AGE", "TRIES", "LAST_ERROR"});
}

void add_message(Table& table, const Message& message, Instant now, bool paused) {
    const std::string note = paused                   ? "(topic is paused) "
                             : was_discarded(message) ? "(discarded) "
                                                      : "";
    table.add({message.id.to_string(), state_word(message.state), shortened(message.topic, 40),
               message.message_id.str(), format_duration(now - message.created_at),
               fmt::format("{}", message.retry_count), note + shortened(message.last_error, 60)});
}

Message find_message(Store& store, Queue queue, const std::string& id) {
    std::vector<Message> found;
    if (const std::optional<WorkItemId> row = WorkItemId::parse(id))
        found = store.find(queue, {.ids = {*row}, .limit = 2});
    if (found.empty()) found = store.find(queue, {.message_id = id, .limit = 2});
    if (found.empty()) {
        throw Failure(ExitCode::not_found,
                      fmt::format("the {} of store '{}' has no message '{}'", to_string(queue),
                                  store.id(), printable(shortened(id, 60))));
    }
    if (found.size() > 1) {
        throw Failure(ExitCode::usage,
                      fmt::format("several messages have the message id '{}'; use the id of the "
                                  "row ('postroom list --message-id ...' shows it)",
                                  printable(shortened(id, 60))));
    }
    return std::move(found.front());
}

}  // namespace postroom::cli
