// The message row, column by column. Tables go by the aliases m (messages), l (their leases) and k
// (keys of the inbox).
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "backends/mysql/vocabulary.hpp"

namespace postroom::mysql {

namespace {

using sql::RowPlace;

// Columns that are not simply read from the table of messages, by RowPlace. Empty: as others. A
// message born leased carries its lease itself until it has an ordinary one.
struct SpecialColumn {
    FieldIndex field;
    std::array<std::string_view, 4> texts;  // live, waiting, done, key
};

constexpr std::array special_columns{
    SpecialColumn{FieldIndex::seq, {"", "", "", "0"}},
    SpecialColumn{FieldIndex::nonce, {"", "", "", "0"}},
    SpecialColumn{
        FieldIndex::state,
        {"IF(COALESCE(l.locked_until, m.born_until) > UTC_TIMESTAMP(6), 1, 0)",
         "IF(m.state = 0 AND l.locked_until > UTC_TIMESTAMP(6), 1, m.state)", "2", "k.state"}},
    SpecialColumn{FieldIndex::topic, {"", "", "", "COALESCE(k.topic, '')"}},
    SpecialColumn{FieldIndex::source, {"", "", "m.source", ""}},
    SpecialColumn{FieldIndex::hash, {"", "", "m.hash", ""}},
    SpecialColumn{
        FieldIndex::available_at,
        {"COALESCE(m.due_time, m.created_at)", "m.available_at", "m.available_at", "k.first_seen"}},
    SpecialColumn{FieldIndex::processed_at, {"", "", "", "k.processed_at"}},
    SpecialColumn{FieldIndex::processed_by, {"", "", "", "k.processed_by"}},
    SpecialColumn{FieldIndex::retry_count, {"0", "", "", "k.retry_count"}},
    SpecialColumn{FieldIndex::lost_count, {"0", "", "", "0"}},
    SpecialColumn{FieldIndex::content_type, {"", "", "", "COALESCE(k.content_type, '')"}},
    SpecialColumn{FieldIndex::headers, {"", "", "", "k.headers"}},
    SpecialColumn{FieldIndex::payload, {"", "", "", "COALESCE(k.payload, '')"}},
    SpecialColumn{FieldIndex::last_error, {"", "", "", "k.last_error"}},
    SpecialColumn{FieldIndex::dead_reason, {"", "", "", "IF(k.state = 3, 'failed', NULL)"}},
    SpecialColumn{FieldIndex::died_at, {"", "IF(m.state = 3, m.died_at, NULL)", "", ""}},
    SpecialColumn{FieldIndex::lease_id, {"COALESCE(l.lease_id, m.lease_id)", "l.lease_id", "", ""}},
    SpecialColumn{FieldIndex::owner, {"COALESCE(l.owner, m.owner)", "l.owner", "", ""}},
    SpecialColumn{FieldIndex::locked_until,
                  {"COALESCE(l.locked_until, m.born_until)", "l.locked_until", "", ""}},
};

std::string_view special_text(FieldIndex index, RowPlace place) {
    const auto* const found = std::ranges::find(special_columns, index, &SpecialColumn::field);
    if (found == special_columns.end()) return {};
    return found->texts.at(static_cast<std::size_t>(place));
}

// What the inbox knows by the key: a message may have been heard of long before it was queued.
std::string_view known_by_key(FieldIndex index) {
    if (index == FieldIndex::message_id) return "k.message_id";
    if (index == FieldIndex::source) return "k.source";
    if (index == FieldIndex::hash) return "k.hash";
    if (index == FieldIndex::created_at) return "k.first_seen";
    if (index == FieldIndex::last_seen) return "k.last_seen";
    return {};
}

// Whoever has just leased a message sees that lease, and the message also if its key is gone.
std::string_view leased_text(FieldIndex index, Queue queue) {
    if (index == FieldIndex::state) return "1";
    if (index == FieldIndex::payload) return "IF({is_beyond}, NULL, m.payload)";
    if (index == FieldIndex::headers) return "IF({is_beyond}, NULL, m.headers)";
    if (index >= FieldIndex::lease_id) return special_text(index, RowPlace::waiting);
    if (queue == Queue::outbox) return {};
    if (index == FieldIndex::message_id) return "m.message_id";
    if (index == FieldIndex::source) return "m.source";
    if (index == FieldIndex::created_at) return "COALESCE(k.first_seen, m.created_at)";
    return {};
}

std::string_view resting_state(RowPlace place) {
    if (place == RowPlace::live) return "0";
    return place == RowPlace::waiting ? "m.state" : special_text(FieldIndex::state, place);
}

// A column where the place has nothing to show.
std::string absent(const Field& field) {
    if (field.kind == FieldKind::time) return "CAST(NULL AS DATETIME(6))";
    if (field.kind == FieldKind::word || field.kind == FieldKind::bytes) return "''";
    return field.otherwise.empty() ? "NULL" : std::string(field.otherwise);
}

bool is_stored(const Field& field, RowPlace place) {
    if (place == RowPlace::key) return false;
    return field.is_in(place == RowPlace::live      ? in_live
                       : place == RowPlace::waiting ? in_waiting
                                                    : in_done);
}

}  // namespace

std::string row_text(const Field& field, RowPlace place, Queue queue, RowUse use) {
    const auto index = static_cast<FieldIndex>(&field - message_fields.data());
    std::string_view text;
    if (use == RowUse::leased) text = leased_text(index, queue);
    if (use == RowUse::resting && index == FieldIndex::state) text = resting_state(place);
    if (text.empty() && queue == Queue::inbox) text = known_by_key(index);
    if (text.empty() && queue == Queue::outbox && index == FieldIndex::idempotency_key)
        text = "COALESCE(m.idempotency_key, m.message_id)";
    if (text.empty()) text = special_text(index, place);
    if (!text.empty()) return std::string(text);
    return is_stored(field, place) ? fmt::format("m.{}", field.name) : absent(field);
}

}  // namespace postroom::mysql
