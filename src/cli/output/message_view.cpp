#include "cli/output/message_view.hpp"

#include <fmt/format.h>

#include <set>

#include "admin/state_words.hpp"
#include "admin/workers.hpp"
#include "cli/output/text.hpp"
#include "postroom/operator.hpp"

namespace postroom::cli {

namespace {

Color state_color(std::string_view word) {
    if (word == admin::state_word(State::dead)) return Color::red;
    if (word == admin::state_word(State::done)) return Color::green;
    return word == admin::state_word(State::in_progress) ? Color::yellow : Color::cyan;
}

// What keeps it waiting, or what became of it, in front of its last error.
std::string note_on(const admin::ListedMessage& listed, Instant now) {
    if (listed.paused) return "(topic is paused) ";
    if (listed.waits_for)
        return fmt::format("(waits for {}) ", admin::sentence_of(*listed.waits_for, now));
    return was_discarded(listed.message) ? "(discarded) " : "";
}

// In a narrow column an address would leave no room for what happened there.
std::string_view without_address(std::string_view error) {
    const std::size_t end = error.find(' ');
    const bool leads = end != std::string_view::npos && error.substr(0, end).find("://") < end;
    return leads ? error.substr(end + 1) : error;
}

std::string narrow_note_on(const admin::ListedMessage& listed, Instant now) {
    return listed.waits_for ? "(destination is down) " : note_on(listed, now);
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
                  {"LAST_ERROR", Shown::narrow},
                  {"LAST_ERROR", Shown::wide}});
}

void add_message(Table& table, const admin::ListedMessage& listed, Instant now) {
    const Message& message = listed.message;
    table.add({admin::short_id(message.id), message.id.to_string(),
               std::string(admin::state_word(message.state)), message.topic,
               message.message_id.str(), format_duration(now - message.created_at),
               fmt::format("{}", message.retry_count),
               narrow_note_on(listed, now) + std::string(without_address(message.last_error)),
               note_on(listed, now) + message.last_error});
}

std::string down_lines(const admin::MessagePage& page) {
    std::set<std::string> named;
    std::string lines;
    for (const admin::ListedMessage& listed : page.messages)
        if (listed.waits_for && named.insert(listed.waits_for->destination).second)
            lines += fmt::format("waits for {}\n",
                                 printable(admin::sentence_of(*listed.waits_for, page.now)));
    return lines;
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
