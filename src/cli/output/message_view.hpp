// Messages as a table, and by the name that a user gives.
#pragma once

#include <string>

#include "admin/bulk.hpp"
#include "admin/messages.hpp"
#include "cli/failure.hpp"
#include "cli/output/table.hpp"

namespace postroom::cli {

Table message_table();
void add_message(Table& table, const admin::ListedMessage& listed, Instant now);

// The destinations that messages of a page wait for, each once: a table that has to fit has no room
// for them.
std::string down_lines(const admin::MessagePage& page);

// The message that `id` names, by the id of its row or by its message id. Throws
// Failure{not_found}, also when there was no time to look at all, or Failure{usage} when several
// have that message id.
Message find_message(Store& store, Queue queue, const std::string& id,
                     const admin::NameSearch& search);

// What is said about a name that is none, or not of one message only.
Failure unknown_message(const Store& store, Queue queue, const std::string& id);
Failure several_messages(const std::string& id);

}  // namespace postroom::cli
