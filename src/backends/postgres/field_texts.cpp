#include "backends/postgres/field_texts.hpp"

#include <map>
#include <string_view>

#include <fmt/format.h>

namespace postroom::postgres {

namespace {

using sql::RowPlace;

using Texts = std::map<std::string_view, std::string_view>;

// Numbers and nonces need 64 bits, the state of a row two; everything else is an integer.
std::string_view integer_type(const Field& field) {
    static const Texts others{
        {"seq", "bigint"}, {"nonce", "bigint"}, {"lease_id", "bigint"}, {"state", "smallint"}};
    const auto found = others.find(field.name);
    return found == others.end() ? "integer" : found->second;
}

// Spelled as the catalog spells them: the deployer compares.
std::string type(const Field& field) {
    switch (field.kind) {
        case FieldKind::integer:
            return std::string(integer_type(field));
        case FieldKind::bytes:
            return "bytea";
        case FieldKind::time:
            return "timestamp with time zone";
        case FieldKind::headers:
            return "json";
        case FieldKind::uuid:
            return "uuid";
        case FieldKind::text:
        case FieldKind::word:
            break;
    }
    return "text";
}

// Bound as what the driver sends: integers of 64 bits, JSON as text.
std::string_view sent_type(const Field& field) {
    static const std::map<FieldKind, std::string_view> types{{FieldKind::integer, "bigint"},
                                                             {FieldKind::bytes, "bytea"},
                                                             {FieldKind::time, "timestamptz"},
                                                             {FieldKind::uuid, "uuid"}};
    const auto found = types.find(field.kind);
    return found == types.end() ? "text" : found->second;
}

std::string bound(const Field& field) {
    const std::string given = fmt::format(":{}::{}", field.name, sent_type(field));
    const std::string wanted = type(field);
    return field.kind == FieldKind::headers || wanted == "integer" ? given + "::" + wanted : given;
}

// What NULL stands for in live; nowhere else is it stored.
std::string value(const Field& field, std::string_view alias) {
    if (field.otherwise.empty()) return fmt::format("{}.{}", alias, field.name);
    const std::string_view quote = field.kind == FieldKind::integer ? "" : "'";
    return fmt::format("coalesce({}.{}, {}{}{})", alias, field.name, quote, field.otherwise, quote);
}

// What is special about a place; everything else is the column of the same name, or NULL.
const Texts& special(RowPlace place) {
    static const Texts live{
        {"state",
         "CASE WHEN coalesce(l.locked_until, m.born_until) > statement_timestamp() "
         "THEN 1 ELSE 0 END"},
        {"available_at", "coalesce(m.due_time, m.created_at)"},
        {"retry_count", "0"},
        {"lost_count", "0"},
        {"lease_id", "coalesce(l.lease_id, m.lease_id)"},
        {"owner", "coalesce(l.owner, m.owner)"},
        {"locked_until", "coalesce(l.locked_until, m.born_until)"}};
    static const Texts waiting{
        {"state", "CASE WHEN l.locked_until > statement_timestamp() THEN 1 ELSE m.state END"},
        {"died_at", "CASE WHEN m.state = 3 THEN m.died_at END"},
        {"lease_id", "l.lease_id"},
        {"owner", "l.owner"},
        {"locked_until", "l.locked_until"}};
    static const Texts done{{"state", "2"}, {"available_at", "m.available_at"}};
    static const Texts key{{"seq", "0"},
                           {"nonce", "0"},
                           {"state", "k.state"},
                           {"message_id", "k.message_id"},
                           {"topic", "coalesce(k.topic, '')"},
                           {"payload", "coalesce(c.payload, '')"},
                           {"content_type", "coalesce(c.content_type, '')"},
                           {"headers", "c.headers"},
                           {"tenant_id", "''"},
                           {"aggregate_type", "'__GLOBAL__'"},
                           {"source", "k.source"},
                           {"created_at", "k.first_seen"},
                           {"available_at", "k.first_seen"},
                           {"processed_at", "k.processed_at"},
                           {"processed_by", "k.processed_by"},
                           {"priority", "0"},
                           {"retry_count", "coalesce(c.retry_count, 0)"},
                           {"lost_count", "0"},
                           {"last_error", "k.last_error"},
                           {"dead_reason", "CASE WHEN k.state = 3 THEN 'failed' END"}};
    switch (place) {
        case RowPlace::live:
            return live;
        case RowPlace::waiting:
            return waiting;
        case RowPlace::done:
            return done;
        case RowPlace::key:
            break;
    }
    return key;
}

// What a queue adds: the outbox knows a message without a key of its own by its id, the inbox keeps
// times and hash with the natural key.
const Texts& special(Queue queue) {
    static const Texts outbox{{"idempotency_key", "coalesce(m.idempotency_key, m.message_id)"}};
    static const Texts inbox{{"hash", "k.hash"},
                             {"created_at", "coalesce(k.first_seen, m.created_at)"},
                             {"last_seen", "k.last_seen"}};
    return queue == Queue::outbox ? outbox : inbox;
}

bool is_stored(const Field& field, RowPlace place) {
    return (place == RowPlace::live && field.is_in(in_live)) ||
           (place == RowPlace::waiting && field.is_in(in_waiting)) ||
           (place == RowPlace::done && field.is_in(in_done));
}

std::string plain_value(const Field& field, RowPlace place, Queue queue) {
    const Texts& of_place = special(place);
    if (const auto found = of_place.find(field.name); found != of_place.end())
        return std::string(found->second);
    const Texts& of_queue = special(queue);
    if (const auto found = of_queue.find(field.name); found != of_queue.end())
        return std::string(found->second);
    if (!is_stored(field, place)) return "NULL";
    return place == RowPlace::live ? value(field, "m") : fmt::format("m.{}", field.name);
}

// Cast, because a domain is not its type where plpgsql returns rows.
std::string cast(const Field& field, const std::string& text) {
    return fmt::format("({})::{} AS {}", text, row_type(field), field.name);
}

}  // namespace

sql::FieldTexts field_texts() {
    return {.type = &type,
            .bound = &bound,
            .value = &value,
            .row_value = [](const Field& field, RowPlace place, Queue queue) {
                return cast(field, plain_value(field, place, queue));
            }};
}

// The driver reads headers as text.
std::string row_type(const Field& field) {
    return field.kind == FieldKind::headers ? "text" : type(field);
}

std::string held_value(const Field& field, RowPlace place, Queue queue) {
    static const Texts held{{"state", "1"},
                            {"lease_id", "in_lease_id"},
                            {"owner", "holder"},
                            {"locked_until", "ends"},
                            {"payload", "CASE WHEN m.seq <> ALL (beyond) THEN m.payload END"},
                            {"headers", "CASE WHEN m.seq <> ALL (beyond) THEN m.headers END"}};
    const auto found = held.find(field.name);
    return cast(
        field, found != held.end() ? std::string(found->second) : plain_value(field, place, queue));
}

std::string name_of(const Field& field) { return std::string(field.name); }

std::string joined(const std::function<bool(const Field&)>& wanted,
                   const std::function<std::string(const Field&)>& text_of) {
    std::string out;
    for (const Field& field : message_fields) {
        if (!wanted(field)) continue;
        if (!out.empty()) out += ", ";
        out += text_of(field);
    }
    return out;
}

std::function<bool(const Field&)> is_in(FieldSet set) {
    return [set](const Field& field) { return field.is_in(set); };
}

std::string arrays_of(FieldSet set) {
    return fmt::format(
        "unnest({}) AS u ({})",
        joined(is_in(set),
               [](const Field& f) { return fmt::format(":{}::{}[]", f.name, sent_type(f)); }),
        joined(is_in(set), &name_of));
}

// Integer arrays hold no NULL: 0 stands for none where that is possible.
std::string elements_of(FieldSet set) {
    return joined(is_in(set), [](const Field& f) -> std::string {
        if (f.kind == FieldKind::headers) return fmt::format("u.{}::json", f.name);
        const bool optional =
            f.kind == FieldKind::integer && f.otherwise.empty() && !f.is_in(in_bare);
        return optional ? fmt::format("nullif(u.{}, 0)", f.name) : fmt::format("u.{}", f.name);
    });
}

}  // namespace postroom::postgres
