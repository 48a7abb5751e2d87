#include "backends/sqlite/row_texts.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "backends/sqlite/vocabulary.hpp"

namespace postroom::sqlite {

namespace {

using sql::RowPlace;

// What is not simply the column of that name, by place.
constexpr FieldText available_early{"available_at", "coalesce(m.due_time, m.created_at)"};
constexpr FieldText retry_none{"retry_count", "0"};
constexpr FieldText lost_none{"lost_count", "0"};
constexpr std::array live_texts{
    FieldText{"state", "coalesce(l.locked_until, m.born_until, 0) > {now}"},
    available_early,
    retry_none,
    lost_none,
    FieldText{"lease_id", "coalesce(l.lease_id, m.lease_id)"},
    FieldText{"owner", "coalesce(l.owner, m.owner)"},
    FieldText{"locked_until", "coalesce(l.locked_until, m.born_until)"},
};
constexpr std::array waiting_texts{
    FieldText{"state", "CASE WHEN m.state = 0 AND l.locked_until > {now} THEN 1 ELSE m.state END"},
    FieldText{"died_at", "CASE WHEN m.state = 3 THEN m.died_at END"},
    FieldText{"lease_id", "l.lease_id"},
    FieldText{"owner", "l.owner"},
    FieldText{"locked_until", "l.locked_until"},
};
constexpr std::array done_texts{FieldText{"state", "2"}, available_early};
// Messages of the inbox that are not queued have the number 0, and a payload if they are done.
constexpr std::array key_texts{
    FieldText{"seq", "0"},
    FieldText{"nonce", "0"},
    FieldText{"state", "k.state"},
    FieldText{"message_id", "k.message_id"},
    FieldText{"topic", "coalesce(k.topic, '')"},
    FieldText{"payload", "coalesce(k.payload, x'')"},
    FieldText{"content_type", "coalesce(k.content_type, '')"},
    FieldText{"headers", "k.headers"},
    FieldText{"tenant_id", "''"},
    FieldText{"aggregate_type", "''"},
    FieldText{"source", "k.source"},
    FieldText{"hash", "k.hash"},
    FieldText{"created_at", "k.first_seen"},
    FieldText{"last_seen", "k.last_seen"},
    FieldText{"available_at", "k.first_seen"},
    FieldText{"processed_at", "k.processed_at"},
    FieldText{"processed_by", "k.processed_by"},
    FieldText{"priority", "0"},
    FieldText{"retry_count", "k.retry_count"},
    lost_none,
    FieldText{"last_error", "k.last_error"},
    FieldText{"dead_reason", "CASE WHEN k.state = 3 THEN 'failed' END"},
};

// By queue. A search by source and message id has to find its way through the key.
constexpr std::array outbox_row_texts{
    FieldText{"idempotency_key", "coalesce(m.idempotency_key, m.message_id)"}};
constexpr std::array inbox_row_texts{
    FieldText{"message_id", "k.message_id"},
    FieldText{"source", "k.source"},
    FieldText{"hash", "k.hash"},
    FieldText{"created_at", "k.first_seen"},
    FieldText{"last_seen", "k.last_seen"},
};

// Of a claim. A message whose key was removed by hand is delivered all the same.
constexpr std::array claimed_texts{FieldText{"state", "1"}, FieldText{"lease_id", "l.lease_id"},
                                   FieldText{"owner", "l.owner"},
                                   FieldText{"locked_until", "l.locked_until"}};
constexpr std::array claimed_inbox_texts{
    FieldText{"message_id", "m.message_id"}, FieldText{"source", "m.source"},
    FieldText{"created_at", "coalesce(k.first_seen, m.created_at)"}};

using Texts = std::span<const FieldText>;

Texts texts_of(RowPlace place) {
    switch (place) {
        case RowPlace::live:
            return live_texts;
        case RowPlace::waiting:
            return waiting_texts;
        case RowPlace::done:
            return done_texts;
        case RowPlace::key:
            break;
    }
    return key_texts;
}

bool has_column(RowPlace place, const Field& field) {
    return (place == RowPlace::live && field.is_in(in_live)) ||
           (place == RowPlace::waiting && field.is_in(in_waiting)) ||
           (place == RowPlace::done && field.is_in(in_done));
}

// The first of `choices` that knows the field; else its column, and NULL where there is none.
std::string text_of(const Field& field, RowPlace place, std::initializer_list<Texts> choices) {
    for (const Texts& texts : choices) {
        const auto found = std::find_if(texts.begin(), texts.end(),
                                        [&](const auto& text) { return text.first == field.name; });
        if (found != texts.end()) return std::string(found->second);
    }
    return has_column(place, field) ? fmt::format("m.{}", field.name) : "NULL";
}

Texts queue_row_texts(RowPlace place, Queue queue) {
    if (place == RowPlace::key) return {};
    return queue == Queue::inbox ? Texts(inbox_row_texts) : Texts(outbox_row_texts);
}

bool is_column(std::string_view text) {
    return text.size() > 2 && text[1] == '.' &&
           std::all_of(text.begin() + 2, text.end(),
                       [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

std::string_view type_of(FieldKind kind) {
    switch (kind) {
        case FieldKind::integer:
        case FieldKind::time:
            return "INTEGER";
        case FieldKind::bytes:
        case FieldKind::uuid:
            return "BLOB";
        default:
            return "TEXT";
    }
}

bool is_of_lease(const Field& field) {
    return field.name == "lease_id" || field.name == "owner" || field.name == "locked_until";
}

}  // namespace

// The casts give a column the same affinity in each part of the view: without that SQLite would
// collect and sort everything before it shows the first rows by seq.
std::string row_column(const Field& field, RowPlace place, Queue queue) {
    const std::string text =
        text_of(field, place, {queue_row_texts(place, queue), texts_of(place)});
    if (is_column(text)) return fmt::format("{} AS {}", text, field.name);
    return fmt::format("CAST({} AS {}) AS {}", text, type_of(field.kind), field.name);
}

std::string claimed_row(RowPlace place, Queue queue) {
    const Texts inbox_only = queue == Queue::inbox ? Texts(claimed_inbox_texts) : Texts();
    return sql::field_list(in_row, [&](const Field& field) {
        return text_of(field, place,
                       {inbox_only, claimed_texts, queue_row_texts(place, queue), texts_of(place)});
    });
}

std::string unleased_row() {
    std::string out;
    for (const Field& field : message_fields) {
        if (!field.is_in(in_row) || is_of_lease(field)) continue;
        if (!out.empty()) out += ", ";
        out += field.name == "state" ? "iif(state = 1, 0, state) AS state" : field.name;
    }
    return out;
}

}  // namespace postroom::sqlite
