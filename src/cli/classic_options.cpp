#include "cli/classic_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/nearest.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

using adoption::ClassicTable;
using adoption::Shape;

constexpr std::int64_t chunk_max = 10'000;

template <typename... Parts>
Failure misused(fmt::format_string<Parts...> what, Parts&&... parts) {
    return {ExitCode::usage, fmt::format(what, std::forward<Parts>(parts)...)};
}

// Of shapes() or fields().
template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
    std::vector<std::string> names;
    for (const Named& one : all) names.emplace_back(one.name);
    return names;
}

// The one that --shape names; without it one that says nothing.
const Shape& shape_of(const Invocation& in) {
    static const Shape none{};
    const auto at = std::ranges::find(adoption::shapes(), in.value("shape"), &Shape::name);
    return at == adoption::shapes().end() ? none : *at;
}

std::string trimmed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string::npos) return "";
    return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The values of a status that an option names, with commas.
std::vector<std::string> status_values(const Invocation& in, const std::string& option,
                                       const std::vector<std::string>& otherwise) {
    if (!in.has(option)) return otherwise;
    std::vector<std::string> values;
    for (const std::string& text : adoption::split(in.value(option), ','))
        values.push_back(trimmed(text));
    if (values.empty() || std::ranges::find(values, "") != values.end())
        throw misused("--{} has an empty value", option);
    return values;
}

std::pair<std::string, std::string> mapping(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw misused("--map needs OURS=THEIRS, such as topic=EventType");
    const std::string ours = text.substr(0, equals);
    const std::vector<std::string> fields = names_of(adoption::fields());
    if (std::ranges::find(fields, ours) == fields.end())
        throw misused("--map: there is no '{}'{}", printable(ours), did_you_mean(ours, fields));
    return {ours, text.substr(equals + 1)};
}

std::uint32_t chunk_of(const Invocation& in) {
    const std::optional<std::int64_t> chunk = parse_integer(in.value("chunk", "1000"));
    if (!chunk || *chunk < 1 || *chunk > chunk_max)
        throw misused("--chunk must be a whole number from 1 to {}", chunk_max);
    return static_cast<std::uint32_t>(*chunk);
}

// Its columns are as --map spells them; an empty one is to be left out.
ClassicTable described(const Invocation& in) {
    const Shape& shape = shape_of(in);
    ClassicTable table{.name = in.value("table", shape.table)};
    if (table.name.empty() && !in.has("table"))
        throw misused("--shape must be one of {}; or give --table and --map",
                      fmt::join(names_of(adoption::shapes()), ", "));
    for (const std::string& text : in.values("map")) {
        const auto [ours, theirs] = mapping(text);
        table.columns[ours] = theirs;
    }
    const std::optional<Duration> timeout = parse_duration(in.value("lock-timeout", "5m"));
    if (!timeout) throw misused("--lock-timeout needs a number with a unit, such as 30s or 5m");
    table.lock_timeout = *timeout;
    table.pending = status_values(in, "pending", shape.pending);
    table.dead = status_values(in, "dead-status", shape.dead);
    const auto finished = status_values(in, "finished", {std::string(shape.finished)});
    if (finished.size() > 1) throw misused("--finished takes one value");
    table.finished = finished.front();
    table.max_attempts = shape.max_attempts;
    return table;
}

// Puts the columns of the database in the place of those that the command line spelled.
void find_columns(const Invocation& in, const std::vector<std::string>& columns,
                  ClassicTable& table) {
    const auto mapped = std::exchange(table.columns, {});
    adoption::map_columns(shape_of(in), columns, table);
    for (const auto& [ours, theirs] : mapped) {
        table.columns.erase(ours);
        if (theirs.empty()) continue;
        const std::string found = adoption::find_column(columns, theirs);
        if (found.empty())
            throw misused("table {} has no column '{}'{}", printable(table.name), printable(theirs),
                          did_you_mean(theirs, columns));
        table.columns[ours] = found;
    }
    for (const char* const option : {"pending", "dead-status", "finished"})
        if (in.has(option) && !table.has("status"))
            throw misused("--{}: no column of {} is the status; name it with --map status=...",
                          option, printable(table.name));
    for (const char* const field : {"id", "topic", "payload"})
        if (!table.has(field))
            throw misused(
                "which column of {0} is the {1}? Name it with --map {1}=...; there are "
                "{2}",
                printable(table.name), field,
                printable(fmt::format("{}", fmt::join(columns, ", "))));
}

}  // namespace

std::vector<Option> classic_table_options() {
    std::vector<std::string> lines;
    for (const Shape& shape : adoption::shapes())
        lines.push_back(fmt::format("{} ({})", shape.name, shape.what));
    return {{.name = "shape",
             .value = "SHAPE",
             .what = fmt::format("What its columns mean: {}.", fmt::join(lines, "; ")),
             .choices = names_of(adoption::shapes())},
            {.name = "table",
             .value = "NAME",
             .what = "The table, or SCHEMA.TABLE, spelled as the database has it; otherwise the "
                     "usual one of the shape."},
            {.name = "map",
             .value = "OURS=THEIRS",
             .what = fmt::format("The column for one of {}; nothing behind the = leaves it out.",
                                 fmt::join(names_of(adoption::fields()), ", ")),
             .repeats = true},
            {.name = "chunk", .value = "N", .what = "Rows in one transaction; 1000."}};
}

OpenedTable open_classic_table(const Invocation& in) {
    ClassicTable table = described(in);
    const std::uint32_t chunk = chunk_of(in);
    const Config config = load_config(in);
    std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const std::vector<std::string> columns =
        as_usage([&] { return adoption::columns_of(*store, table.name); });
    if (columns.empty())
        throw Failure(ExitCode::not_found,
                      fmt::format("the database of store '{}' has no table '{}'; name it with "
                                  "--table, spelled as the database has it",
                                  printable(store->id()), printable(table.name)));
    find_columns(in, columns, table);
    return {.store = std::move(store), .table = std::move(table), .chunk = chunk};
}

}  // namespace postroom::cli
