#include "cli/remote/remote_values.hpp"

#include <charconv>

#include "admin/state_words.hpp"
#include "base/rfc3339.hpp"
#include "cli/failure.hpp"
#include "queue/message_fields.hpp"

namespace postroom::cli {

namespace {

OwnerToken owner_from(const std::string& text) {
    return OwnerToken(Uuid::parse(text).value_or(Uuid{}));
}

std::optional<std::uint32_t> small_number(const JsonValues& json, std::string_view name) {
    if (!json.has(name)) return std::nullopt;
    return static_cast<std::uint32_t>(json.number(name));
}

Duration seconds_from(const std::string& text) {
    return std::chrono::round<Duration>(std::chrono::duration<double>(std::atof(text.c_str())));
}

CircuitReport circuit_from(const JsonValues& json) {
    return {.destination = json.text("destination"),
            .error = json.text("last_error"),
            .since = json.time("since").value_or(Instant{}),
            .next_probe = json.time("next_probe_at").value_or(Instant{}),
            // Relays of an earlier version do not tell them.
            .topics = json.has("topics") ? base::json_strings(json.json("topics"))
                                         : std::vector<std::string>{}};
}

}  // namespace

JsonValues::JsonValues(std::string_view json) {
    try {
        fields_ = base::json_fields(json);
    } catch (const std::invalid_argument& error) {
        throw Failure(ExitCode::failed, std::string("the relay's answer: ") + error.what());
    }
}

const base::JsonField* JsonValues::find(std::string_view name) const {
    for (const base::JsonField& field : fields_)
        if (field.key == name) return &field;
    return nullptr;
}

std::string JsonValues::text(std::string_view name) const {
    const base::JsonField* const field = find(name);
    return field == nullptr ? "" : field->text;
}

std::string JsonValues::json(std::string_view name) const {
    const base::JsonField* const field = find(name);
    return field == nullptr ? "{}" : field->json;
}

std::uint64_t JsonValues::number(std::string_view name) const {
    const std::string given = text(name);
    std::uint64_t value = 0;
    std::from_chars(given.data(), given.data() + given.size(), value);
    return value;
}

std::optional<Instant> JsonValues::time(std::string_view name) const {
    return base::parse_time(text(name));
}

std::vector<JsonValues> JsonValues::objects(std::string_view name) const {
    std::vector<JsonValues> out;
    const base::JsonField* const field = find(name);
    if (field == nullptr) return out;
    for (const std::string& json : base::json_elements(field->json)) out.emplace_back(json);
    return out;
}

namespace {

// Of the fields of a message those that are texts and times; the others have their own ways.
void read(const JsonValues& json, std::string_view name, std::string& text) {
    text = json.text(name);
}
void read(const JsonValues& json, std::string_view name, Instant& time) {
    time = json.time(name).value_or(Instant{});
}
void read(const JsonValues& json, std::string_view name, std::optional<Instant>& time) {
    time = json.time(name);
}
template <class Other>
void read(const JsonValues&, std::string_view, Other&) {}

}  // namespace

Message message_from(const JsonValues& json) {
    Message message;
    message.id = WorkItemId::parse(json.text("id")).value_or(WorkItemId{});
    message.queue = json.text("queue") == "inbox" ? Queue::inbox : Queue::outbox;
    message.state = admin::state_from(json.text("state")).value_or(State::ready);
    message.message_id = MessageId(json.text("message_id"));
    visit_fields(message, [&](FieldIndex index, auto& member) {
        const Field& field = field_of(index);
        if (field.kind != FieldKind::bytes) read(json, field.name, member);
    });
    message.priority = std::atoi(json.text("priority").c_str());
    message.retry_count = small_number(json, "retry_count").value_or(0);
    message.lost_count = small_number(json, "lost_count").value_or(0);
    message.max_attempts = small_number(json, "max_attempts");
    message.dead_reason = dead_reason_from(json.text("dead_reason"));
    message.payload_left_out = json.number("payload_bytes");
    if (json.has("lease")) {
        const JsonValues lease(json.json("lease"));
        message.lease = Lease{.id = message.id,
                              .owner = owner_from(lease.text("owner_token")),
                              .locked_until = lease.time("locked_until").value_or(Instant{})};
    }
    return message;
}

Counts counts_from(const JsonValues& json) {
    return {.ready = json.number("ready"),
            .in_progress = json.number("in_progress"),
            .dead = json.number("dead"),
            .seen = json.number("seen"),
            .retrying = json.number("retrying"),
            .old_failures = json.number("old_failures"),
            .estimated = json.flag("estimated")};
}

WorkerReport worker_from(const JsonValues& json) {
    WorkerReport worker{
        .owner = owner_from(json.text("owner_token")),
        .queue = json.text("queue") == "inbox" ? Queue::inbox : Queue::outbox,
        .host = json.text("host"),
        .pid = static_cast<std::int64_t>(json.number("pid")),
        .version = json.text("version"),
        .started = json.time("started_at").value_or(Instant{}),
        .last_seen = json.time("last_seen").value_or(Instant{}),
        .lease = seconds_from(json.text("lease_seconds")),
        .topics = base::json_strings(json.json("topics")),
        .in_hand = json.number("in_hand"),
        .delivered_per_second = std::atof(json.text("delivered_per_second").c_str()),
        .failed_per_second = std::atof(json.text("failed_per_second").c_str())};
    for (const JsonValues& circuit : json.objects("circuits"))
        worker.circuits.push_back(circuit_from(circuit));
    return worker;
}

FailedAttempt attempt_from(const JsonValues& json) {
    std::optional<Duration> took;
    if (json.has("took_seconds")) took = seconds_from(json.text("took_seconds"));
    return {.at = json.time("at").value_or(Instant{}),
            .worker = owner_from(json.text("worker")),
            .destination = json.text("destination"),
            .outcome = json.text("outcome") == "fail" ? Outcome::fail : Outcome::abandon,
            .error = json.text("error"),
            .claimed_at = json.time("claimed_at"),
            .took = took};
}

AuditEntry audit_entry_from(const JsonValues& json) {
    return {.id = json.number("id"),
            .at = json.time("at").value_or(Instant{}),
            .who = json.text("who"),
            .what = json.text("what"),
            .target = json.text("target"),
            .count = json.number("count"),
            .outcome = json.text("outcome")};
}

Finding finding_from(const JsonValues& json) {
    const std::string health = json.text("health");
    return {.check = json.text("check"),
            .health = health == "ok"        ? Finding::Health::good
                      : health == "warning" ? Finding::Health::warning
                                            : Finding::Health::bad,
            .what = json.text("what")};
}

}  // namespace postroom::cli
