#include <fmt/format.h>

#include <array>

#include "admin/dead_letters.hpp"
#include "admin/explain.hpp"
#include "admin/http/handlers.hpp"
#include "admin/json_view.hpp"
#include "admin/messages.hpp"
#include "admin/pauses.hpp"
#include "admin/state_words.hpp"
#include "base/base64.hpp"
#include "base/json_fields.hpp"
#include "base/json_map.hpp"
#include "base/json_writer.hpp"
#include "base/utf8.hpp"
#include "postroom/outbox.hpp"

namespace postroom::admin {

namespace {

using base::JsonArray;
using base::JsonObject;

constexpr std::uint64_t page_max = 500;
constexpr std::uint32_t page_usual = 50;
constexpr std::string_view resend_header = "postroom-resend-of";

std::string number_text(std::uint64_t number) { return fmt::format("{}", number); }

// One message that a request is about.
struct Named {
    StorePtr store{};
    Message message{};
};

Named named_message(const Context& context, const Request& request, bool payload,
                    std::optional<Queue> only = std::nullopt) {
    ParameterReader read(request.query);
    Named out{.store = context.store(read.text("store"))};
    const Queue queue = only ? *only : read.queue();
    read.end();
    const std::string& id = request.path_parameters.at("id");
    NamedMessage found = find_message(*out.store, queue, id, {.payload = payload});
    if (found.several)
        throw Problem::conflict(
            fmt::format("several messages have the message id '{}': use the id of a row", id));
    if (found.searched_to)
        throw Problem::not_found(fmt::format(
            "no message '{}' in the {} of '{}' so far, down to number {}: GET /api/messages with "
            "message_id and cursor={} goes on",
            id, to_string(queue), out.store->id(), *found.searched_to, *found.searched_to));
    if (!found.message)
        throw Problem::not_found(fmt::format("no message '{}' in the {} of '{}'", id,
                                             to_string(queue), out.store->id()));
    out.message = std::move(*found.message);
    return out;
}

// Whoever may see a message may not see with what its sender signs in elsewhere.
bool carries_credentials(std::string_view header) {
    std::string name(header);
    for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    for (const std::string_view part :
         {"authorization", "cookie", "token", "secret", "password", "api-key", "apikey"})
        if (name.find(part) != std::string::npos) return true;
    return false;
}

std::string masked_headers(const Headers& headers) {
    JsonObject out;
    for (const auto& [name, value] : headers)
        out.add(name, carries_credentials(name) ? std::string_view("***") : value);
    return out.text();
}

std::string attempts_view(Store& store, const Message& message) {
    JsonArray out;
    StoreControls* const desk = controls_of(store);
    if (desk == nullptr) return out.text();
    const std::vector<FailedAttempt> attempts = desk->attempts(message.queue, message.id);
    for (auto at = attempts.rbegin(); at != attempts.rend(); ++at) out.add_json(json_of(*at));
    return out.text();
}

std::string holder_view(const Explanation& why) {
    return JsonObject()
        .add("host", why.holder->host)
        .add("pid", why.holder->pid)
        .add("leased_at", leased_at(why))
        .text();
}

std::string allowed_view(const Message& message) {
    JsonArray out;
    for (const Change change : {Change::redrive, Change::discard, Change::retry_now})
        if (changeable_states(change).contains(message.state)) out.add(verb_of(change));
    return out.text();
}

std::string group_view(const DeadLetterGroup& group) {
    JsonArray topics;
    for (const auto& [topic, count] : group.topics)
        topics.add_json(JsonObject().add("topic", topic).add("count", count).text());
    JsonArray deaths;
    for (const std::uint64_t count : group.deaths_by_hour) deaths.add_json(std::to_string(count));
    return JsonObject()
        .add("fingerprint", group.fingerprint)
        .add("error", group.error)
        .add_text("sample_error", group.newest.last_error)
        .add("sample_id", group.newest.id.to_string())
        .add("dead_reason", to_string(group.newest.dead_reason))
        .add("count", group.count)
        .add_json("topics", topics.text())
        .add("first_created_at", group.first_created)
        .add("last_created_at", group.last_created)
        .add_json("deaths_by_hour", deaths.text())
        .text();
}

Headers headers_from(const std::string& json) {
    Headers out;
    try {
        for (const base::JsonField& field : base::json_fields(json)) {
            if (field.kind != base::JsonKind::string)
                throw std::invalid_argument("must be an object of strings");
            out[field.key] = field.text;
        }
    } catch (const std::invalid_argument& error) {
        throw Problem::bad_parameter("headers", error.what());
    }
    return out;
}

// The old one with what the caller changed; ids, times and what became of it are its own.
NewMessage edited(const Message& old, ParameterReader& read) {
    NewMessage message{.topic = read.text("topic").value_or(old.topic),
                       .payload = old.payload,
                       .content_type = read.text("content_type").value_or(old.content_type),
                       .headers = old.headers,
                       .correlation_id = old.correlation_id,
                       .tenant_id = old.tenant_id,
                       .aggregate_type = old.aggregate_type,
                       .aggregate_id = old.aggregate_id,
                       .ordering_key = old.ordering_key,
                       .occurred_at = old.occurred_at,
                       .priority = old.priority,
                       .max_attempts = old.max_attempts};
    const std::optional<std::string> text = read.text("payload_text", SIZE_MAX);
    const std::optional<std::string> base64 = read.text("payload_base64", SIZE_MAX);
    const std::optional<std::string> headers = read.text("headers", SIZE_MAX);
    message.idempotency_key = read.text("idempotency_key").value_or("");
    read.end();
    if (text && base64)
        throw Problem::bad_parameter("payload_text", "give this or payload_base64, not both");
    if (text) message.payload = *text;
    if (base64) {
        message.payload = base::base64_decode(*base64);
        if (!message.payload) throw Problem::bad_parameter("payload_base64", "is not base64");
    }
    if (headers) message.headers = headers_from(*headers);
    message.headers[std::string(resend_header)] = old.message_id.str();
    return message;
}

}  // namespace

Response list_messages(const Context& context, const Request& request) {
    ParameterReader read(request.query);
    const StorePtr store = context.store(read.text("store"));
    const Queue queue = read.queue();
    Query query = read.filter();
    query.put_off = read.flag("put_off");
    const std::string fingerprint = read.fingerprint();
    query.failed = read.flag("failed");
    query.newest_first = read.word("order", {"newest", "oldest"}).value_or("newest") == "newest";
    const std::uint64_t cursor = read.number("cursor", 0, WorkItemId::seq_max).value_or(0);
    (query.newest_first ? query.before_seq : query.after_seq) = cursor;
    query.limit =
        static_cast<std::uint32_t>(read.number("limit", 1, page_max).value_or(page_usual));
    read.end();
    const MessagePage page = list_messages(*store, queue, query, page_patience, fingerprint);
    JsonObject out;
    out.add("store", store->id()).add("queue", to_string(queue)).add("now", page.now);
    out.add_json("messages", json_of(page));
    if (page.next_seq) out.add("next_cursor", number_text(*page.next_seq));
    if (page.cut_short) out.add("cut_short", true);
    return json_response(out.text());
}

Response get_message(const Context& context, const Request& request) {
    const Named named = named_message(context, request, false);
    const Message& message = named.message;
    const Explanation why = explain(*named.store, message, [&](const Message& waiting) {
        return context.options.routes.empty() || waiting.queue == Queue::inbox ||
               !context.destination_of(waiting.topic).empty();
    });
    JsonObject out;
    out.add("store", named.store->id())
        .add("now", why.now)
        .add_json("message", json_of(message))
        .add_json("headers", masked_headers(message.headers))
        .add_json("attempts", attempts_view(*named.store, message))
        .add_json("explanation", JsonObject()
                                     .add("reason", reason_word(why.reason))
                                     .add("sentence", sentence_of(why))
                                     .text())
        .add_text("destination", context.destination_of(message.topic))
        .add_json("may", allowed_view(message));
    if (why.holder) out.add_json("holder", holder_view(why));
    return json_response(out.text());
}

Response reveal_payload(const Context& context, const Request& request) {
    const Named named = named_message(context, request, true);
    const Message& message = named.message;
    context.audit_first(
        *named.store, request.caller,
        {.what = "reveal", .target = message.id.to_string(), .count = 1, .outcome = "revealed"});
    JsonObject out;
    out.add("id", message.id.to_string()).add_text("content_type", message.content_type);
    out.add("bytes", message.payload_bytes());
    if (base::is_valid_utf8(message.payload)) {
        out.add("text", message.payload);
    } else {
        out.add("base64", base::base64_encode(message.payload));
    }
    out.add_json("headers", base::to_json(message.headers));
    return json_response(out.text());
}

Response change_message(const Context& context, const Request& request) {
    const Parameters body = body_parameters(request.body);
    ParameterReader read(body);
    const Change change = read.change();
    read.end();
    const Named named = named_message(context, request, false);
    const Message& message = named.message;
    if (!changeable_states(change).contains(message.state))
        throw Problem::conflict(fmt::format("the message is {} and cannot be {}",
                                            state_word(message.state), participle_of(change)));
    const std::array ids{message.id};
    const BulkResult result = change_named(*named.store, message.queue, change, ids);
    context.audit(*named.store, request.caller,
                  {.what = std::string(verb_of(change)),
                   .target = message.id.to_string(),
                   .count = result.changed,
                   .outcome = result.changed > 0 ? "done" : "nothing to change"});
    return json_response(JsonObject()
                             .add("id", message.id.to_string())
                             .add("action", verb_of(change))
                             .add("changed", result.changed > 0)
                             .text());
}

Response resend_message(const Context& context, const Request& request) {
    const Parameters body = body_parameters(request.body);
    ParameterReader read(body);
    const Named named = named_message(context, request, true, Queue::outbox);
    const Message& old = named.message;
    if (old.state != State::dead)
        throw Problem::conflict("only a dead message can be sent again as a new one");
    const NewMessage message = edited(old, read);
    const EnqueueResult sent = Outbox(*named.store).enqueue(message);
    if (!sent.already_existed)
        context.audit(*named.store, request.caller,
                      {.what = "resend",
                       .target = old.id.to_string(),
                       .count = 1,
                       .outcome = "sent as " + sent.id.to_string()});
    return json_response(JsonObject()
                             .add("id", sent.id.to_string())
                             .add("message_id", sent.message_id.str())
                             .add("resend_of", old.message_id.str())
                             .text(),
                         201);
}

Response list_dead_letters(const Context& context, const Request& request) {
    ParameterReader read(request.query);
    const StorePtr store = context.store(read.text("store"));
    const Queue queue = read.queue();
    read.end();
    const DeadLetters letters =
        dead_letters(*store, queue, dead_letters_examined_max, context.stop);
    JsonArray groups;
    for (const DeadLetterGroup& group : letters.groups) groups.add_json(group_view(group));
    return json_response(JsonObject()
                             .add("store", store->id())
                             .add("queue", to_string(queue))
                             .add("examined", letters.examined)
                             .add("complete", letters.complete)
                             .add_json("groups", groups.text())
                             .text());
}

}  // namespace postroom::admin
