#include "sql/expander.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/assert.hpp"
#include "postroom/operator.hpp"

namespace postroom::sql {

namespace {

// So many messages are counted one by one; that takes some ten milliseconds.
constexpr int counted_max = 20'000;

constexpr std::array field_sets{
    std::pair<std::string_view, FieldSet>{"live", in_live},
    std::pair<std::string_view, FieldSet>{"waiting", in_waiting},
    std::pair<std::string_view, FieldSet>{"done", in_done},
    std::pair<std::string_view, FieldSet>{"kept", in_kept},
    std::pair<std::string_view, FieldSet>{"enqueue", in_enqueue},
    std::pair<std::string_view, FieldSet>{"bare", in_bare},
    std::pair<std::string_view, FieldSet>{"receive", in_receive},
    std::pair<std::string_view, FieldSet>{"row", in_row},
};

constexpr std::array row_places{
    std::pair<std::string_view, RowPlace>{"live", RowPlace::live},
    std::pair<std::string_view, RowPlace>{"waiting", RowPlace::waiting},
    std::pair<std::string_view, RowPlace>{"done", RowPlace::done},
    std::pair<std::string_view, RowPlace>{"key", RowPlace::key},
};

// A list token with a word that is not there is a fault of the dialect's text.
template <class Known>
auto known(const Known& table, std::string_view word) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const auto& entry) { return entry.first == word; });
    POSTROOM_ASSERT(found != table.end());
    return found->second;
}

bool is_token_word(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

std::string column(const Field& field, std::string_view alias) {
    return alias.empty() ? std::string(field.name) : fmt::format("{}.{}", alias, field.name);
}

std::string seconds(Duration duration) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

// "first rest" at the first blank.
std::pair<std::string_view, std::string_view> halves(std::string_view text) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return {text, {}};
    return {text.substr(0, blank), text.substr(blank + 1)};
}

}  // namespace

std::string field_list(FieldSet set,
                       const std::function<std::string(const Field& field)>& text_of) {
    std::string out;
    for (const Field& field : message_fields) {
        if (!field.is_in(set)) continue;
        if (!out.empty()) out += ", ";
        out += text_of(field);
    }
    return out;
}

std::string state_word(Queue queue, std::string_view column) {
    std::string out = fmt::format("CASE {}", column);
    for (const State state :
         {State::ready, State::in_progress, State::done, State::dead, State::seen})
        out += fmt::format(" WHEN {} THEN '{}'", static_cast<int>(state), state_name(queue, state));
    return out + " END";
}

Expander::Expander(const Vocabulary& vocabulary, const Names& names, Queue queue)
    : vocabulary_(vocabulary),
      names_(names),
      queue_(queue),
      phrases_(vocabulary.phrases ? vocabulary.phrases(queue) : Phrases{}) {}

std::string Expander::expand(std::string_view text) const {
    std::string out;
    while (!text.empty()) {
        const std::size_t open = text.find('{');
        out.append(text.substr(0, open));
        if (open == std::string_view::npos) break;
        text.remove_prefix(open);
        const std::size_t close = text.find('}');
        const std::string_view token =
            close == std::string_view::npos ? std::string_view{} : text.substr(1, close - 1);
        if (const std::optional<std::string> value = value_of(token)) {
            out += *value;
            text.remove_prefix(close + 1);
        } else {
            out += '{';
            text.remove_prefix(1);
        }
    }
    return out;
}

std::optional<std::string> Expander::value_of(std::string_view token) const {
    if (token == "rows") return std::nullopt;  // statement.hpp puts them in
    if (is_token_word(token)) return word(token);
    const std::size_t colon = token.find(':');
    if (colon == std::string_view::npos || !is_token_word(token.substr(0, colon)))
        return std::nullopt;
    const std::string_view form = token.substr(0, colon);
    const auto [first, rest] = halves(token.substr(colon + 1));
    if (!is_token_word(first)) return std::nullopt;
    if (form == "define") return vocabulary_.define(first, word(rest));
    if (form == "row") return expand(row(known(row_places, first)));
    return expand(list(form, known(field_sets, first), rest));
}

std::string Expander::word(std::string_view word) const {
    const std::string& base = names_.of(queue_).str();
    if (word == "schema") return vocabulary_.quoted(names_.schema.str());
    if (word == "queue") return base;
    if (word == "view") return vocabulary_.qualify(names_.schema, base);
    if (word == "max_payload_bytes") return std::to_string(names_.limits.max_payload_bytes);
    if (word == "headers_bytes") return std::to_string(names_.limits.headers_bytes);
    if (word == "headers_text_bytes") return std::to_string(headers_text_bytes(names_.limits));
    if (word == "lease_seconds_max") return seconds(Limits{}.lease_max);
    if (word == "delay_seconds_max") return seconds(Limits{}.delay_max);
    if (word == "batch_max") return std::to_string(Limits{}.batch_max);
    if (word == "counted_max") return std::to_string(counted_max);
    if (word == "attempts_kept") return std::to_string(attempts_kept_max);
    if (word == "attempt_chars") return std::to_string(attempt_error_chars_max);
    if (const auto phrase = phrases_.find(word); phrase != phrases_.end())
        return expand(phrase->second);
    return vocabulary_.qualify(names_.schema, base + "_" + std::string(word));
}

std::string Expander::list(std::string_view form, FieldSet set, std::string_view alias) const {
    const FieldTexts& texts = vocabulary_.fields;
    if (form == "columns") return field_list(set, [&](const Field& f) { return column(f, alias); });
    if (form == "values")
        return field_list(set, [&](const Field& f) {
            return texts.value ? texts.value(f, alias) : column(f, alias);
        });
    if (form == "bound")
        return field_list(set, [&](const Field& f) {
            return texts.bound ? texts.bound(f) : fmt::format(":{}", f.name);
        });
    if (form == "inputs")
        return field_list(set,
                          [&](const Field& f) { return vocabulary_.input + std::string(f.name); });
    if (form == "declared")
        return field_list(set, [&](const Field& f) {
            return fmt::format("{}{} {}", vocabulary_.input, f.name, texts.type(f));
        });
    POSTROOM_ASSERT(form == "typed");
    return field_list(set,
                      [&](const Field& f) { return fmt::format("{} {}", f.name, texts.type(f)); });
}

std::string Expander::row(RowPlace place) const {
    return field_list(in_row, [&](const Field& field) {
        return vocabulary_.fields.row_value(field, place, queue_);
    });
}

}  // namespace postroom::sql
