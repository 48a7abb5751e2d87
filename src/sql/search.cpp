#include "sql/search.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/assert.hpp"
#include "queue/message_fields.hpp"
#include "queue/query_texts.hpp"

namespace postroom::sql {

namespace {

// A condition of the dialect about one column and one parameter.
std::string about(std::string text, std::string_view column, std::string_view param) {
    const auto put = [&text](std::string_view token, std::string_view word) {
        for (std::size_t at = text.find(token); at != std::string::npos; at = text.find(token))
            text.replace(at, token.size(), word);
    };
    put("{column}", column);
    put("{param}", param);
    return text;
}

// Each text with `columns` in the place of the message row.
std::vector<FindText> with_columns(std::vector<FindText> parts, std::string_view columns) {
    constexpr std::string_view token = "{columns:row}";
    for (FindText& part : parts) {
        const std::size_t at = part.text.find(token);
        POSTROOM_ASSERT(at != std::string::npos);
        part.text.replace(at, token.size(), columns);
    }
    return parts;
}

constexpr std::array all_states{State::ready, State::in_progress, State::done, State::dead,
                                State::seen};

// The states of what `query` looks for; empty: any.
StateSet sought_states(const Query& query) {
    if (query.put_off) return State::ready;
    if (query.blocking && query.state.empty()) return open_states;
    return query.state;
}

// The size stands behind the columns of a message row: see payload_bytes_column.
std::string columns_without_payload(std::string_view payload_bytes) {
    std::string columns;
    for (const Field& field : message_fields) {
        if (!field.is_in(in_row)) continue;
        const bool payload = &field == &field_of(FieldIndex::payload);
        columns += fmt::format("{}{}, ", payload ? "NULL AS " : "", field.name);
    }
    return columns + fmt::format("{} AS payload_bytes", payload_bytes);
}

}  // namespace

FindText FindText::without_errors() const {
    FindText part = *this;
    part.errors = false;
    return part;
}

FindText FindText::fresh() const {
    FindText part = without_errors();
    part.keys = false;
    return part;
}

bool may_hold(const FindText& part, const Query& query) {
    const bool keyed = query.blocking || (query.ordering_key && !query.ordering_key->empty());
    const bool failed =
        query.failed || query.blocking || query.put_off || !query.error_part.empty();
    if (keyed && !part.keys) return false;
    if (failed && !part.errors) return false;
    if (part.numbers == FindText::Numbers::none && query.after_seq > 0) return false;
    const StateSet wanted = sought_states(query);
    if (part.states.empty() || wanted.empty()) return true;
    return std::ranges::any_of(all_states, [&](State state) {
        return part.states.contains(state) && wanted.contains(state);
    });
}

SearchTexts search_texts(const std::vector<FindText>& find, std::string_view payload_bytes) {
    return {.rows = find,
            .rows_without_payload = with_columns(find, columns_without_payload(payload_bytes)),
            .counts = with_columns(find, "COUNT(*)")};
}

std::string paged_by_limit(const std::vector<std::string>& selects, std::string_view order) {
    return paged_by_limit(selects, order, "");
}

// A part finds no more than the whole may have; of several, the union is cut again.
std::string paged_by_limit(const std::vector<std::string>& selects, std::string_view order,
                           std::string_view before_part) {
    const std::string end = fmt::format(" ORDER BY {} LIMIT :limit", order);
    if (selects.size() == 1) return selects.front() + end;
    std::string text;
    for (const std::string& select : selects)
        text +=
            fmt::format("{}{}({}{})", text.empty() ? "" : " UNION ALL ", before_part, select, end);
    return text + end;
}

Search::Search(const Query& query, const SearchWords& words) : query_(query), paged_(words.paged) {
    // Zero does not restrict: inbox messages that are not queued have that number.
    const std::int64_t nothing = query.after_seq == 0 ? 1 : 0;
    where_ = " WHERE seq > :after_seq";
    params_.set("after_seq", static_cast<std::int64_t>(query.after_seq) - nothing)
        .set("limit", std::int64_t{query.limit});
    if (query.before_seq > 0) {
        require("seq < :before_seq");
        params_.set("before_seq", static_cast<std::int64_t>(query.before_seq));
    }
    if (!query.ids.empty()) require_numbers(words.in_array);
    visit_texts(query, [&](std::string_view column, const std::optional<std::string>& value) {
        require_equal(words, column, value);
    });
    if (query.owner) {
        require("owner = :owner");
        params_.set("owner", query.owner->uuid());
    }
    if (!query.state.empty()) require_state(query.state);
    if (query.blocking) require(words.blocking);
    if (query.failed) require_failed();
    if (query.put_off) require_put_off(words.now);
    if (!query.error_part.empty()) {
        require(about(words.contains, "last_error", "error_part"));
        params_.set("error_part", std::string_view(query.error_part));
    }
    require_created();
}

void Search::require_equal(const SearchWords& words, std::string_view column,
                           const std::optional<std::string>& value) {
    if (!value) return;
    if (value->empty()) {
        require(fmt::format("({} IS NULL OR {})", column, about(words.empty, column, column)));
        return;
    }
    require(about(words.equals, column, column));
    params_.set(column, std::string_view(*value));
}

void Search::require_numbers(const std::string& in_array) {
    for (const WorkItemId& id : query_.ids) seqs_.push_back(static_cast<std::int64_t>(id.seq()));
    require(about(in_array, "seq", "seqs"));
    params_.set("seqs", IntArray(seqs_));
}

void Search::require_state(StateSet states) {
    std::vector<int> codes;
    for (const State state : all_states)
        if (states.contains(state)) codes.push_back(static_cast<int>(state));
    require(fmt::format("state IN ({})", fmt::join(codes, ", ")));
}

void Search::require_created() {
    if (query_.created_from) {
        require("created_at >= :created_from");
        params_.set("created_from", *query_.created_from);
    }
    if (query_.created_before) {
        require("created_at < :created_before");
        params_.set("created_before", *query_.created_before);
    }
}

void Search::require_failed() {
    require(fmt::format("state <> {} AND (state = {} OR retry_count > 0)",
                        static_cast<int>(State::done), static_cast<int>(State::dead)));
}

void Search::require_put_off(Instant now) {
    require_state(State::ready);
    require("available_at > :now AND (due_time IS NULL OR due_time < available_at)");
    params_.set("now", now);
}

std::vector<std::string> Search::asked(const std::vector<FindText>& parts) const {
    std::vector<std::string> selects;
    for (const FindText& part : parts)
        if (may_hold(part, query_)) selects.push_back(part.text + where_);
    return selects;
}

bool Search::hopeless(const SearchTexts& texts) const { return asked(texts.rows).empty(); }

std::string Search::rows_text(const SearchTexts& texts) const {
    return paged_(asked(query_.payloads ? texts.rows : texts.rows_without_payload),
                  query_.newest_first ? "seq DESC" : "seq");
}

std::string Search::numbers_text(const FindText& numbers) const {
    std::string text = numbers.text + " AND seq > :after_seq";
    if (query_.before_seq > 0) text += " AND seq < :before_seq";
    return fmt::format("SELECT COUNT(*), MIN(seq), MAX(seq) FROM ({}) AS n",
                       paged_({text}, query_.newest_first ? "seq DESC" : "seq"));
}

std::string Search::count_text(const SearchTexts& texts) const {
    return fmt::format("{}", fmt::join(asked(texts.counts), " UNION ALL "));
}

}  // namespace postroom::sql
