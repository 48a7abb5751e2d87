#include "admin/http/parameter_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "admin/state_words.hpp"
#include "base/json_fields.hpp"
#include "base/rfc3339.hpp"
#include "base/utf8.hpp"
#include "queue/query_texts.hpp"

namespace postroom::admin {

namespace {

constexpr std::size_t error_chars_max = 4000;

std::string text_of(const base::JsonField& field) {
    if (field.kind == base::JsonKind::null)
        throw std::invalid_argument(fmt::format("'{}' is null: leave it out", field.key));
    if (field.kind != base::JsonKind::array) return field.text;
    return fmt::format("{}", fmt::join(base::json_strings(field.json), ","));
}

}  // namespace

const std::string* ParameterReader::find(const std::string& name) {
    known_.insert(name);
    const auto at = parameters_.find(name);
    return at == parameters_.end() ? nullptr : &at->second;
}

std::optional<std::string> ParameterReader::text(const std::string& name, std::size_t chars_max) {
    const std::string* const given = find(name);
    if (given == nullptr) return std::nullopt;
    if (base::code_point_count(*given) > chars_max)
        throw Problem::bad_parameter(name, fmt::format("at most {} characters", chars_max));
    return *given;
}

std::optional<std::uint64_t> ParameterReader::number(const std::string& name, std::uint64_t least,
                                                     std::uint64_t most) {
    const std::string* const given = find(name);
    if (given == nullptr) return std::nullopt;
    std::uint64_t value = 0;
    const char* const end = given->data() + given->size();
    const auto [stopped, error] = std::from_chars(given->data(), end, value);
    if (given->empty() || error != std::errc() || stopped != end || value < least || value > most)
        throw Problem::bad_parameter(
            name, fmt::format("must be a whole number from {} to {}", least, most));
    return value;
}

std::optional<std::string> ParameterReader::word(const std::string& name,
                                                 std::initializer_list<std::string_view> words) {
    const std::string* const given = find(name);
    if (given == nullptr) return std::nullopt;
    if (std::ranges::find(words, *given) == words.end())
        throw Problem::bad_parameter(name,
                                     fmt::format("must be one of {}", fmt::join(words, ", ")));
    return *given;
}

bool ParameterReader::flag(const std::string& name) {
    return word(name, {"true", "false"}).value_or("false") == "true";
}

std::optional<Instant> ParameterReader::time(const std::string& name) {
    const std::string* const given = find(name);
    if (given == nullptr) return std::nullopt;
    const std::optional<Instant> time = base::parse_time(*given);
    if (!time) throw Problem::bad_parameter(name, "must be a time such as 2026-01-31T12:00:00Z");
    return time;
}

Queue ParameterReader::queue() {
    return word("queue", {"outbox", "inbox"}).value_or("outbox") == "inbox" ? Queue::inbox
                                                                            : Queue::outbox;
}

Change ParameterReader::change() {
    const std::string* const given = find("action");
    for (const Change change : {Change::redrive, Change::discard, Change::retry_now})
        if (given != nullptr && *given == verb_of(change)) return change;
    throw Problem::bad_parameter("action", "must be one of redrive, discard, retry-now");
}

StateSet ParameterReader::states() {
    StateSet states;
    const std::string* const given = find("state");
    if (given == nullptr || given->empty()) return states;
    std::string_view rest = *given;
    while (true) {
        const std::size_t comma = rest.find(',');
        const std::optional<State> state = state_from(rest.substr(0, comma));
        if (!state)
            throw Problem::bad_parameter(
                "state", fmt::format("must be some of {}", fmt::join(state_words(), ", ")));
        states = states | *state;
        if (comma == std::string_view::npos) return states;
        rest.remove_prefix(comma + 1);
    }
}

Query ParameterReader::filter() {
    Query query{.payloads = false};
    visit_texts(query, [this](std::string_view name, std::optional<std::string>& wanted) {
        wanted = text(std::string(name));
    });
    query.state = states();
    query.blocking = flag("blocking");
    query.error_part = text("error", error_chars_max).value_or("");
    query.created_from = time("created_from");
    query.created_before = time("created_before");
    if (const std::optional<std::string> owner = text("owner_token")) {
        const std::optional<Uuid> uuid = Uuid::parse(*owner);
        if (!uuid) throw Problem::bad_parameter("owner_token", "must be a UUID");
        query.owner = OwnerToken(*uuid);
    }
    return query;
}

// A script whose variable is empty means one group of the dead letters, never all of them.
std::string ParameterReader::fingerprint() {
    const std::optional<std::string> given = text("fingerprint");
    if (given && given->empty())
        throw Problem::bad_parameter("fingerprint", "must not be empty; leave it out for all");
    return given.value_or("");
}

void ParameterReader::end() const {
    for (const auto& [name, value] : parameters_)
        if (!known_.contains(name)) throw Problem::bad_parameter(name, "is not known here");
}

Parameters body_parameters(std::string_view json) {
    Parameters out;
    try {
        for (const base::JsonField& field : base::json_fields(json))
            if (!out.emplace(field.key, text_of(field)).second)
                throw std::invalid_argument(fmt::format("'{}' is given twice", field.key));
    } catch (const std::invalid_argument& error) {
        throw Problem(400, "invalid-body", "The body is not the JSON object that is wanted.",
                      error.what());
    }
    return out;
}

}  // namespace postroom::admin
