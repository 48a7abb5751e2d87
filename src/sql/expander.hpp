// Expander: puts names, lists of fields and the dialect's own phrases into SQL text.
//
// Tokens of a text, for one queue with base name Q:
//   {schema}        the quoted schema          {queue}  Q itself, for use inside other names
//   {view}          the qualified name Q
//   {max_payload_bytes} {headers_bytes} {headers_text_bytes}   the limits of names.hpp
//   {lease_seconds_max} {delay_seconds_max} {batch_max}        the defaults of Limits
//   {attempts_kept}, {attempt_chars}           attempts_kept_max, attempt_error_chars_max
//   {counted_max}   how many messages are counted one by one
//   {word}          the dialect's phrase of that name, expanded in turn; where there is none, the
//                   qualified name Q_word
//   {columns:S}     the names of the fields of set S; {columns:S a} with the alias a before each
//   {values:S a}    what is stored in them, with what NULL stands for in its place
//   {bound:S}       a parameter for each: :name, as the engine wants it
//   {inputs:S}      the parameters of a routine: in_name, or as the engine marks them
//   {declared:S}    their declarations: the same and its type
//   {typed:S}       the names with their types
//   {row:P}         the message row, read from place P: live, waiting, done or key
//   {define:kind w} "CREATE kind Q_w" as the engine replaces one: function, procedure, view
// S is one of live, waiting, done, kept, enqueue, bare, receive, row (FieldSet in
// queue/message_fields.hpp). Braces that hold none of this stay as they are.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "queue/message_fields.hpp"
#include "sql/names.hpp"

namespace postroom::sql {

// Where a message row is read from. `key`: inbox messages that are not queued.
enum class RowPlace { live, waiting, done, key };

// The fields of `set`, each as `text_of` has it, with commas between them.
std::string field_list(FieldSet set, const std::function<std::string(const Field& field)>& text_of);

// The state in `column` as a word of the queue's document: "Ready", "Processing".
std::string state_word(Queue queue, std::string_view column);

// How an engine writes the fields of a message. A text that uses no list token of a kind may leave
// its member empty.
struct FieldTexts {
    // Of a routine's parameter or of a result column.
    std::function<std::string(const Field& field)> type{};
    // A parameter of a statement; empty: ":name".
    std::function<std::string(const Field& field)> bound{};
    // What is stored, with what NULL stands for in its place; empty: the column.
    std::function<std::string(const Field& field, std::string_view alias)> value{};
    // A column of the message row, with its name if it wants one. The tables go by the aliases m
    // (messages), l (their leases) and k (keys of the inbox).
    std::function<std::string(const Field& field, RowPlace place, Queue queue)> row_value{};
};

using Phrases = std::map<std::string, std::string, std::less<>>;

// All that the tokens of a dialect's texts stand for.
struct Vocabulary {
    std::string input = "in_";  // stands before the name of a routine's parameter
    Qualify qualify{};
    std::function<std::string(std::string_view name)> quoted{};
    FieldTexts fields{};
    std::function<Phrases(Queue queue)> phrases{};
    std::function<std::string(std::string_view kind, const std::string& name)> define{};
};

class Expander {
public:
    Expander(const Vocabulary& vocabulary, const Names& names, Queue queue);

    std::string expand(std::string_view text) const;

private:
    // Nothing where `token` is none.
    std::optional<std::string> value_of(std::string_view token) const;
    std::string word(std::string_view word) const;
    std::string list(std::string_view form, FieldSet set, std::string_view alias) const;
    std::string row(RowPlace place) const;

    const Vocabulary& vocabulary_;
    const Names& names_;
    const Queue queue_;
    const Phrases phrases_;
};

}  // namespace postroom::sql
