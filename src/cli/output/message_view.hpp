// Messages as tables and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "postroom/store.hpp"

namespace postroom::cli {

// Everything but the payload, unless it is asked for. Empty fields are left out. `paused`: its
// topic is.
std::string message_view_json(const Message& message, bool with_payload, bool paused = false);

Table message_table();
void add_message(Table& table, const Message& message, Instant now, bool paused = false);

// The state as a filter and as it is shown: ready, in_progress, done, dead, seen.
std::string state_word(State state);
std::optional<State> state_from(const std::string& word);
std::vector<std::string> state_words();

// The message that `id` names, by the id of its row or by its message id. Throws
// Failure{not_found}, or Failure{usage} when several have that message id.
Message find_message(Store& store, Queue queue, const std::string& id);

}  // namespace postroom::cli
