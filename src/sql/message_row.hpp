// The message row: the columns that every dialect selects for a message, in the order of
// message_fields (queue/message_fields.hpp), as far as they are in_row.
#pragma once

#include <algorithm>

#include "postroom/message.hpp"
#include "queue/message_fields.hpp"
#include "sql/connection.hpp"

namespace postroom::sql {

// Where a search or a claim that leaves a payload out tells how long it is: behind the message row.
inline constexpr int payload_bytes_column = static_cast<int>(
    std::ranges::count_if(message_fields, [](const Field& field) { return field.is_in(in_row); }));

enum class Content : std::uint8_t { whole, left_out };  // payload and headers

Message read_message(Queue queue, const Row& row, Content content = Content::whole);

// Whether the database has left the payload out; it is never NULL otherwise.
bool payload_is_left_out(const Row& row);
// Of a row with its payload: what it and the headers take.
std::size_t content_bytes(const Row& row);

}  // namespace postroom::sql
