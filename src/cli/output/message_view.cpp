#include "cli/output/message_view.hpp"

#include <fmt/format.h>

#include "admin/state_words.hpp"
#include "cli/output/text.hpp"
#include "postroom/operator.hpp"

namespace postroom::cli {

namespace {

Color state_color(std::string_view word) {
    if (word == admin::state_word(State::dead)) return Color::red;
    if (word == admin::state_word(State::done)) return Color::green;
    return word == admin::state_word(State::in_progress) ? Color::yellow : Color::cyan;
}

}  // namespace

Table message_table() {
    return Table({{"ID", Shown::narrow},
                  {"ID", Shown::wide},
                  {"STATE", Shown::always, &state_color},
                  "TOPIC",
                  {"MESSAGE_ID", Shown::wide},
                  "AGE",
                  "TRIES",
                  "LAST_ERROR"});
}

void add_message(Table& table, const admin::ListedMessage& listed, Instant now) {
    const Message& message = listed.message;
    const std::string note = listed.paused            ? "(topic is paused) "
                             : was_discarded(message) ? "(discarded) "
                                                      : "";
    table.add({admin::short_id(message.id), message.id.to_string(),
               std::string(admin::state_word(message.state)), shortened(message.topic, 40),
               message.message_id.str(), format_duration(now - message.created_at),
               fmt::format("{}", message.retry_count), note + shortened(message.last_error, 60)});
}

Failure unknown_message(const Store& store, Queue queue, const std::string& id) {
    return {ExitCode::not_found,
            fmt::format("the {} of store '{}' has no message '{}'", to_string(queue), store.id(),
                        printable(shortened(id, 60)))};
}

Failure several_messages(const std::string& id) {
    return {ExitCode::usage,
            fmt::format("several messages have the message id '{}'; use the id of the row "
                        "('postroom list --message-id ...' shows it)",
                        printable(shortened(id, 60)))};
}

Message find_message(Store& store, Queue queue, const std::string& id,
                     const admin::NameSearch& search) {
    admin::NamedMessage found = admin::find_message(store, queue, id, search);
    if (found.several) throw several_messages(id);
    if (found.searched_to)
        throw Failure(ExitCode::not_found,
                      fmt::format("the {} of store '{}' has no message '{}' down to number {}: "
                                  "search for longer with --search-time 10s",
                                  to_string(queue), store.id(), printable(shortened(id, 60)),
                                  *found.searched_to));
    if (!found.message) throw unknown_message(store, queue, id);
    return *std::move(found.message);
}

}  // namespace postroom::cli
