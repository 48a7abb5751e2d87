// JSON that others wrote: payloads, headers, records, bodies of requests.
#include <algorithm>
#include <chrono>

#include "base/json_fields.hpp"
#include "base/json_map.hpp"
#include "base/json_text.hpp"
#include "base/utf8.hpp"
#include "fuzz.hpp"
#include "queue/record_json.hpp"

namespace postroom::fuzz {

namespace {

constexpr std::ptrdiff_t nesting_of_all = 64;  // what every reader takes

bool is_flat(std::string_view json) {
    return std::ranges::count_if(json, [](char c) { return c == '{' || c == '['; }) <
           nesting_of_all;
}

void check_fields(std::string_view input, bool is_json) {
    std::vector<base::JsonField> fields;
    const bool read = takes<std::invalid_argument>([&] { fields = base::json_fields(input); });
    require(!read || is_json, "what has fields is JSON");
    for (const base::JsonField& field : fields) {
        require(base::compact_json(field.json).has_value(), "a field's value is JSON");
        require(base::is_valid_utf8(field.key) && base::is_valid_utf8(field.text),
                "a field's texts are UTF-8");
    }
    const std::size_t first = input.find_first_not_of(" \t\r\n");
    if (is_json && is_flat(input) && input[first] == '{')
        require(read, "the fields of an object can be read");
    if (is_json && is_flat(input) && input[first] == '[')
        require(takes<std::invalid_argument>([&] { base::json_elements(input); }),
                "the elements of an array can be read");
}

void check_quoting(std::string_view input) {
    std::string quoted = "[";
    base::append_json_string(quoted, input);
    quoted += ']';
    require(base::compact_json(quoted) == quoted, "a quoted text is compact JSON");
    const std::vector<std::string> strings = base::json_strings(quoted);
    require(strings.size() == 1, "a quoted text is one string");
    if (base::is_valid_utf8(input)) require(strings[0] == input, "a quoted text means itself");
}

}  // namespace

void run(std::string_view input) {
    const std::optional<std::string> compact = base::compact_json(input);
    if (compact) require(base::compact_json(*compact) == compact, "compact JSON stays as it is");
    check_fields(input, compact.has_value());
    check_quoting(input);
    takes<std::invalid_argument>([&] { base::json_strings(input); });
    base::array_from_json(input);
    attempts_from_json(input);
    WorkerReport worker;
    worker.last_seen = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};
    const Instant now = worker.last_seen;
    read_json(worker, input);
    is_silent(worker, now);
}

}  // namespace postroom::fuzz
