// The fields of a message, listed once.
//
// Name, kind and where it is found: everything that goes through the fields one by one takes them
// from here, be it C++ (binding, reading, JSON, copying) or SQL (the list tokens of
// sql/expander.hpp). A new field is a line here, a member of the structs in message.hpp that have
// it, and a column in a new file of each backend's schema/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "postroom/message.hpp"

namespace postroom {

enum class FieldKind : std::uint8_t {
    integer,  // absent ones are NULL
    text,     // the empty text stands for NULL
    word,     // a text that is never NULL
    bytes,
    time,
    headers,  // a JSON object, as text
    uuid,
};

// Sets of fields: the tables that store a field, the verbs that are given it, and who shows it.
enum FieldSet : std::uint16_t {
    in_live = 1,      // fresh messages
    in_waiting = 2,   // everything exceptional
    in_done = 4,      // the history of the outbox
    in_enqueue = 8,   // what Store::enqueue writes with a plain INSERT
    in_receive = 16,  // what Store::receive is given
    in_row = 32,      // the message row that every dialect selects (sql/message_row.hpp)
    in_publish = 64,  // what sinks publish as JSON beside the payload
    in_bare = 128,    // of in_enqueue: all that a message with nothing but a payload needs
    in_table = 3,     // in both tables of messages that are not done
    in_content = 7,   // in all three tables
    in_kept = 5,      // goes from live into the history
};

// clang-format off
//    name             kind     sets                                              what NULL stands for
#define POSTROOM_MESSAGE_FIELDS(FIELD)                                                                     \
    FIELD(seq,             integer, in_content | in_row,                                  "")                  \
    FIELD(nonce,           integer, in_content | in_enqueue | in_bare | in_receive | in_row,        "")                  \
    FIELD(state,           integer, in_waiting | in_row,                                  "")                  \
    FIELD(message_id,      word,    in_content | in_enqueue | in_bare | in_receive | in_row | in_publish, "")            \
    FIELD(topic,           word,    in_content | in_enqueue | in_bare | in_receive | in_row | in_publish, "")            \
    FIELD(payload,         bytes,   in_content | in_enqueue | in_bare | in_receive | in_row,        "")                  \
    FIELD(content_type,    word,    in_content | in_enqueue | in_receive | in_row | in_publish, "application/json") \
    FIELD(headers,         headers, in_content | in_enqueue | in_receive | in_row | in_publish, "")            \
    FIELD(correlation_id,  text,    in_content | in_enqueue | in_row | in_publish,        "")                  \
    FIELD(tenant_id,       word,    in_content | in_enqueue | in_row | in_publish,        "")                  \
    FIELD(idempotency_key, text,    in_content | in_enqueue | in_row,                     "")                  \
    FIELD(aggregate_type,  word,    in_content | in_enqueue | in_row | in_publish,        "__GLOBAL__")        \
    FIELD(aggregate_id,    text,    in_content | in_enqueue | in_row | in_publish,        "")                  \
    FIELD(ordering_key,    text,    in_content | in_enqueue | in_receive | in_row | in_publish, "")            \
    FIELD(source,          text,    in_table | in_receive | in_row | in_publish,          "")                  \
    FIELD(hash,            bytes,   in_table | in_receive | in_row,                       "")                  \
    FIELD(created_at,      time,    in_content | in_row | in_publish,                     "")                  \
    FIELD(last_seen,       time,    in_row,                                               "")                  \
    FIELD(available_at,    time,    in_waiting | in_row,                                  "")                  \
    FIELD(occurred_at,     time,    in_content | in_enqueue | in_row | in_publish,        "")                  \
    FIELD(due_time,        time,    in_content | in_receive | in_row,                     "")                  \
    FIELD(expires_at,      time,    in_content | in_enqueue | in_receive | in_row,        "")                  \
    FIELD(processed_at,    time,    in_done | in_row,                                     "")                  \
    FIELD(processed_by,    text,    in_done | in_row,                                     "")                  \
    FIELD(priority,        integer, in_content | in_enqueue | in_receive | in_row,        "0")                 \
    FIELD(max_attempts,    integer, in_content | in_enqueue | in_receive | in_row,        "")                  \
    FIELD(retry_count,     integer, in_waiting | in_done | in_row,                        "")                  \
    FIELD(lost_count,      integer, in_waiting | in_done | in_row,                        "")                  \
    FIELD(last_error,      text,    in_waiting | in_row,                                  "")                  \
    FIELD(dead_reason,     text,    in_waiting | in_row,                                  "")                  \
    FIELD(died_at,         time,    in_waiting | in_row,                                  "")                  \
    FIELD(lease_id,        integer, in_row,                                               "")                  \
    FIELD(owner,           uuid,    in_row,                                               "")                  \
    FIELD(locked_until,    time,    in_row,                                               "")
// clang-format on

struct Field {
    std::string_view name;
    FieldKind kind;
    std::uint16_t sets;
    std::string_view otherwise;  // what NULL stands for; empty: for nothing

    constexpr bool is_in(FieldSet set) const { return (sets & set) == set; }
};

inline constexpr std::array message_fields{
#define POSTROOM_FIELD(name, kind, sets, otherwise) \
    Field{#name, FieldKind::kind, static_cast<std::uint16_t>(sets), otherwise},
    POSTROOM_MESSAGE_FIELDS(POSTROOM_FIELD)
#undef POSTROOM_FIELD
};

// The place of each field in message_fields, by name.
enum class FieldIndex : std::uint8_t {
#define POSTROOM_FIELD(name, kind, sets, otherwise) name,
    POSTROOM_MESSAGE_FIELDS(POSTROOM_FIELD)
#undef POSTROOM_FIELD
};

constexpr const Field& field_of(FieldIndex index) {
    return message_fields[static_cast<std::size_t>(index)];
}

// Calls visit(FieldIndex, member) for each field that `message` (NewMessage, ReceivedMessage,
// Message) has as a member, in the order of the list.
template <class SomeMessage, class Visit>
constexpr void visit_fields(SomeMessage&& message, Visit&& visit) {
#define POSTROOM_FIELD(name, kind, sets, otherwise) \
    if constexpr (requires { message.name; }) visit(FieldIndex::name, message.name);
    POSTROOM_MESSAGE_FIELDS(POSTROOM_FIELD)
#undef POSTROOM_FIELD
}

// Calls visit(FieldIndex, member of from, member of to) for each field that both have.
template <class From, class To, class Visit>
constexpr void visit_shared_fields(From&& from, To& to, Visit&& visit) {
#define POSTROOM_FIELD(name, kind, sets, otherwise) \
    if constexpr (requires {                        \
                      from.name;                    \
                      to.name;                      \
                  })                                \
        visit(FieldIndex::name, std::forward<From>(from).name, to.name);
    POSTROOM_MESSAGE_FIELDS(POSTROOM_FIELD)
#undef POSTROOM_FIELD
}

// The message that a store keeps of what it was given: every field the two have in common. Ids,
// times and the lease are the store's to set.
Message stored_form(const NewMessage& message);
Message stored_form(NewMessage&& message);
// Names and values together, as the limit counts them.
std::size_t header_bytes(const Headers& headers);
// What a message weighs in memory: its payload and its headers.
std::size_t content_bytes(const Message& message);
// An outbox message whose writer did not say when it occurred did so when it was created.
inline void note_occurrence(Message& message) {
    if (message.queue == Queue::outbox && !message.occurred_at)
        message.occurred_at = message.created_at;
}
std::size_t content_bytes(const NewMessage& message);
// What an observer is shown of a message: what it is known, sorted and traced by, no content.
Message labels_of(const Message& message);
Message labels_of(const NewMessage& message);
// For the inbox it goes over what an earlier arrival left.
void take_content(const ReceivedMessage& from, Message& to);

}  // namespace postroom
