#include "cli/foreign_shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "cli/failure.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

constexpr std::int64_t chunk_max = 10'000;

struct FieldColumn {
    std::string_view field;
    std::string_view column;  // several, with | between them: the first that is there
};

struct Shape {
    std::string_view name;
    std::string_view table;
    std::string_view what;
    std::vector<FieldColumn> columns;
    std::vector<std::string> pending{};
    std::vector<std::string> dead{};
    std::string_view finished{};
    std::uint32_t max_attempts = 0;
};

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all{
        {.name = "outbox",
         .table = "Outbox",
         .what = "Topic, Payload, Status (0 ready, 1 in progress, 2 done, 3 failed), LockedUntil",
         .columns = {{"id", "Id"},
                     {"topic", "Topic"},
                     {"payload", "Payload"},
                     {"message_id", "MessageId"},
                     {"correlation_id", "CorrelationId"},
                     {"created_at", "CreatedAt"},
                     {"due_time", "DueTimeUtc|DueTime"},
                     {"next_attempt_at", "NextAttemptAt"},
                     {"status", "Status"},
                     {"is_processed", "IsProcessed"},
                     {"processed_at", "ProcessedAt"},
                     {"locked_until", "LockedUntil"},
                     {"retry_count", "RetryCount"}},
         .pending = {"0", "1"},
         .dead = {"3"},
         .finished = "2"},
        {.name = "outbox_event",
         .table = "outbox_event",
         .what = "event_id, event_type, payload, status (0 new, 1 done, 2 retry, 3 dead)",
         .columns = {{"id", "event_id"},
                     {"topic", "event_type"},
                     {"payload", "payload"},
                     {"headers", "headers"},
                     {"aggregate_type", "aggregate_type"},
                     {"aggregate_id", "aggregate_id"},
                     {"tenant_id", "tenant_id"},
                     {"created_at", "created_at"},
                     {"next_attempt_at", "available_at"},
                     {"status", "status"},
                     {"processed_at", "done_at"},
                     {"locked_at", "locked_at"},
                     {"retry_count", "attempts"}},
         .pending = {"0", "2"},
         .dead = {"3"},
         .finished = "1"},
        {.name = "outbox_events",
         .table = "OutboxEvents",
         .what = "EventType, EventData, IsProcessed, RetryCount, MaxRetries, NextRetryAt",
         .columns = {{"id", "Id"},
                     {"topic", "EventType"},
                     {"payload", "EventData"},
                     {"created_at", "CreatedAt"},
                     {"is_processed", "IsProcessed"},
                     {"processed_at", "ProcessedAt"},
                     {"retry_count", "RetryCount"},
                     {"max_attempts", "MaxRetries"},
                     {"next_attempt_at", "NextRetryAt"}},
         .max_attempts = 3},
        {.name = "outbox_messages",
         .table = "OutboxMessages",
         .what = "TenantId, EventType or Name, Payload, IdempotencyKey, ProcessedAt, RetryCount",
         .columns = {{"id", "Id"},
                     {"tenant_id", "TenantId"},
                     {"topic", "EventType|Name"},
                     {"payload", "Payload"},
                     {"idempotency_key", "IdempotencyKey"},
                     {"created_at", "CreatedAt"},
                     {"is_processed", "IsProcessed"},
                     {"processed_at", "ProcessedAt"},
                     {"retry_count", "RetryCount"}},
         .max_attempts = 5}};
    return all;
}

constexpr std::array fields{
    "id",           "topic",          "payload",      "message_id",      "content_type",
    "headers",      "correlation_id", "tenant_id",    "idempotency_key", "aggregate_type",
    "aggregate_id", "ordering_key",   "priority",     "max_attempts",    "occurred_at",
    "due_time",     "expires_at",     "created_at",   "next_attempt_at", "status",
    "is_processed", "processed_at",   "locked_until", "locked_at",       "retry_count"};

std::vector<std::string> shape_names() {
    std::vector<std::string> names;
    for (const Shape& shape : shapes()) names.emplace_back(shape.name);
    return names;
}

const Shape* shape_of(const Invocation& in) {
    for (const Shape& shape : shapes())
        if (shape.name == in.value("shape")) return &shape;
    return nullptr;
}

std::string folded(std::string_view name) {
    std::string out;
    for (const char c : name)
        if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

// As spelled in `columns`; empty: not there.
std::string find_column(const std::vector<std::string>& columns, std::string_view wanted) {
    if (std::ranges::find(columns, wanted) != columns.end()) return std::string(wanted);
    for (const std::string& column : columns)
        if (folded(column) == folded(wanted)) return column;
    return "";
}

std::vector<std::string> split(std::string_view text, char mark) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(mark), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::string trimmed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string::npos) return "";
    return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The values of a status that an option names, with commas.
std::vector<std::string> status_values(const Invocation& in, const std::string& option) {
    std::vector<std::string> values;
    for (const std::string& text : split(in.value(option), ',')) values.push_back(trimmed(text));
    if (values.empty() || std::ranges::find(values, "") != values.end())
        throw Failure(ExitCode::usage, fmt::format("--{} has an empty value", option));
    return values;
}

void check_status_options(const Invocation& in) {
    for (const std::string option : {"pending", "dead-status", "finished"})
        if (in.has(option)) status_values(in, option);
    if (in.has("finished") && status_values(in, "finished").size() > 1)
        throw Failure(ExitCode::usage, "--finished takes one value");
}

std::pair<std::string, std::string> mapping(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw Failure(ExitCode::usage, "--map needs OURS=THEIRS, such as topic=EventType");
    const std::string ours = text.substr(0, equals);
    if (std::ranges::find(fields, ours) == fields.end())
        throw Failure(ExitCode::usage,
                      fmt::format("--map: there is no '{}'{}", printable(ours),
                                  did_you_mean(ours, std::vector<std::string>(fields.begin(),
                                                                              fields.end()))));
    return {ours, text.substr(equals + 1)};
}

std::string table_name(const Invocation& in) {
    const Shape* const shape = shape_of(in);
    return in.has("table") ? in.value("table") : std::string(shape->table);
}

void apply_shape(ForeignTable& table, const Shape& shape, const std::vector<std::string>& columns) {
    for (const FieldColumn& wanted : shape.columns) {
        for (const std::string& name : split(wanted.column, '|')) {
            const std::string found = find_column(columns, name);
            if (found.empty()) continue;
            table.columns[std::string(wanted.field)] = found;
            break;
        }
    }
    table.pending = shape.pending;
    table.dead = shape.dead;
    table.finished = shape.finished;
    table.max_attempts = shape.max_attempts;
}

void apply_options(ForeignTable& table, const Invocation& in,
                   const std::vector<std::string>& columns) {
    for (const std::string& text : in.values("map")) {
        const auto [ours, theirs] = mapping(text);
        if (theirs.empty()) {
            table.columns.erase(ours);
            continue;
        }
        const std::string found = find_column(columns, theirs);
        if (found.empty())
            throw Failure(ExitCode::usage,
                          fmt::format("table {} has no column '{}'{}", printable(table.name),
                                      printable(theirs), did_you_mean(theirs, columns)));
        table.columns[ours] = found;
    }
    if (in.has("pending")) table.pending = status_values(in, "pending");
    if (in.has("finished")) table.finished = status_values(in, "finished").front();
    if (in.has("dead-status")) table.dead = status_values(in, "dead-status");
    for (const std::string option : {"pending", "dead-status", "finished"}) {
        if (in.has(option) && !table.columns.contains("status"))
            throw Failure(ExitCode::usage,
                          fmt::format("--{}: no column of {} is the status; name it with --map "
                                      "status=...",
                                      option, printable(table.name)));
    }
    table.lock_timeout = parse_duration(in.value("lock-timeout", "5m")).value();
}

}  // namespace

std::vector<Option> foreign_table_options() {
    std::vector<std::string> lines;
    for (const Shape& shape : shapes())
        lines.push_back(fmt::format("{} ({})", shape.name, shape.what));
    return {{.name = "shape",
             .value = "SHAPE",
             .what = fmt::format("What its columns mean: {}.", fmt::join(lines, "; ")),
             .choices = shape_names()},
            {.name = "table",
             .value = "NAME",
             .what = "The table, or SCHEMA.TABLE, spelled as the database has it; otherwise the "
                     "usual one of the shape."},
            {.name = "map",
             .value = "OURS=THEIRS",
             .what = fmt::format("The column for one of {}; nothing behind the = leaves it out.",
                                 fmt::join(fields, ", ")),
             .repeats = true},
            {.name = "chunk", .value = "N", .what = "Rows in one transaction; 1000."}};
}

std::uint32_t chunk_of(const Invocation& in) {
    const std::optional<std::int64_t> chunk = parse_integer(in.value("chunk", "1000"));
    if (!chunk || *chunk < 1 || *chunk > chunk_max)
        throw Failure(ExitCode::usage,
                      fmt::format("--chunk must be a whole number from 1 to {}", chunk_max));
    return static_cast<std::uint32_t>(*chunk);
}

void check_foreign_options(const Invocation& in) {
    if (shape_of(in) == nullptr && !in.has("table"))
        throw Failure(ExitCode::usage,
                      fmt::format("--shape must be one of {}; or give --table and --map",
                                  fmt::join(shape_names(), ", ")));
    for (const std::string& text : in.values("map")) mapping(text);
    if (!parse_duration(in.value("lock-timeout", "5m")))
        throw Failure(ExitCode::usage,
                      "--lock-timeout needs a number with a unit, such as 30s or 5m");
    check_status_options(in);
    chunk_of(in);
}

TableAdoption& adoption(Store& store) {
    TableAdoption* const found = adoption_of(store);
    if (found == nullptr)
        throw Failure(ExitCode::failed,
                      fmt::format("store '{}' cannot do this", printable(store.id())));
    return *found;
}

ForeignTable foreign_table(Store& store, const Invocation& in) {
    ForeignTable table{.name = table_name(in)};
    const std::vector<std::string> columns =
        as_usage([&] { return adoption(store).columns_of(table.name); });
    if (columns.empty())
        throw Failure(ExitCode::not_found,
                      fmt::format("the database of store '{}' has no table '{}'; name it with "
                                  "--table, spelled as the database has it",
                                  printable(store.id()), printable(table.name)));
    if (const Shape* const shape = shape_of(in)) apply_shape(table, *shape, columns);
    apply_options(table, in, columns);
    for (const std::string field : {"id", "topic", "payload"}) {
        if (!table.columns.contains(field))
            throw Failure(ExitCode::usage,
                          fmt::format("which column of {} is the {}? Name it with --map {}=...; "
                                      "there are {}",
                                      printable(table.name), field, field,
                                      printable(fmt::format("{}", fmt::join(columns, ", ")))));
    }
    return table;
}

}  // namespace postroom::cli
