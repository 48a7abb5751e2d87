// The message row (sql/message_row.hpp) as SQLite selects it.
//
// The tables go by the aliases m (messages), l (their leases) and k (keys of the inbox).
#pragma once

#include <string>

#include "postroom/message.hpp"
#include "sql/expander.hpp"

namespace postroom::sqlite {

// One column for the view of all messages, with its name. An expired lease shows as ready, with its
// owner.
std::string row_column(const Field& field, sql::RowPlace place, Queue queue);

// All columns for a claim, which holds the message with the lease l.
std::string claimed_row(sql::RowPlace place, Queue queue);

// The columns of that view without the lease: what is in progress counts as ready.
std::string unleased_row();

}  // namespace postroom::sqlite
