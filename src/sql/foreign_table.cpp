#include "sql/foreign_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "base/hex.hpp"
#include "postroom/ids.hpp"

namespace postroom::sql {

namespace {

constexpr std::array text_fields{
    std::string_view{"id"},           std::string_view{"message_id"},
    std::string_view{"topic"},        std::string_view{"payload"},
    std::string_view{"content_type"}, std::string_view{"headers"},
    std::string_view{"tenant_id"},    std::string_view{"correlation_id"},
    std::string_view{"ordering_key"}, std::string_view{"idempotency_key"},
    std::string_view{"aggregate_id"}, std::string_view{"aggregate_type"}};
constexpr std::array number_fields{std::string_view{"priority"}, std::string_view{"max_attempts"}};
constexpr std::array time_fields{std::string_view{"occurred_at"}, std::string_view{"created_at"},
                                 std::string_view{"due_time"}, std::string_view{"next_attempt_at"},
                                 std::string_view{"expires_at"}};

bool is_number(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Values of a status come from the operator: numbers, or words that need no escaping.
bool is_word(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == ' ';
    });
}

}  // namespace

std::string quoted(char quote, std::string_view name) {
    if (name.empty() || name.find(quote) != std::string_view::npos ||
        name.find('\0') != std::string_view::npos)
        throw std::invalid_argument("table: a name is empty or has a quote in it");
    return fmt::format("{}{}{}", quote, name, quote);
}

std::pair<std::string, std::string> split_name(const std::string& name) {
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) return {"", name};
    return {name.substr(0, dot), name.substr(dot + 1)};
}

// Collects a statement and its values in order.
class ForeignSql::Writer {
public:
    explicit Writer(Placeholder placeholder) : placeholder_(placeholder) {}

    Writer& text(std::string_view text) {
        statement_.sql += text;
        return *this;
    }
    Writer& value(SqlValue value) {
        statement_.params.push_back(std::move(value));
        switch (placeholder_) {
            case Placeholder::dollar:
                statement_.sql += fmt::format("${}", statement_.params.size());
                break;
            case Placeholder::question:
                statement_.sql += fmt::format("?{}", statement_.params.size());
                break;
            case Placeholder::plain:
                statement_.sql += "?";
                break;
        }
        return *this;
    }
    SqlStatement take() { return std::move(statement_); }

private:
    const Placeholder placeholder_;
    SqlStatement statement_;
};

ForeignSql::ForeignSql(const ForeignTexts& texts, Placeholder placeholder,
                       const ForeignTable& table, std::map<std::string, std::string> types)
    : texts_(texts), placeholder_(placeholder), table_(table), types_(std::move(types)) {
    const auto [schema, name] = split_name(table.name);
    from_ = (schema.empty() ? "" : quoted(texts.quote, schema) + ".") + quoted(texts.quote, name);
    for (const auto& [field, column] : table.columns) {
        if (!types_.contains(column))
            throw std::invalid_argument(
                fmt::format("table {} has no column '{}'", table.name, column));
    }
    for (const std::string field : {"id", "topic", "payload"}) {
        if (!has(field))
            throw std::invalid_argument(
                fmt::format("table {}: no column is the {}", table.name, field));
    }
    const auto add = [this](const auto& names) {
        for (const std::string_view field : names)
            if (has(std::string(field))) fields_.emplace_back(field);
    };
    add(text_fields);
    add(number_fields);
    add(time_fields);
}

bool ForeignSql::is_text(std::string_view field) {
    return std::ranges::find(text_fields, field) != text_fields.end();
}

std::string ForeignSql::text_of(const std::string& field, const std::string& hex) const {
    const std::optional<std::string> bytes = base::hex_decode(hex);
    if (!bytes) throw std::invalid_argument(fmt::format("{}: unreadable", field));
    constexpr std::size_t uuid_bytes = 16;
    if (field == "payload" || bytes->size() != uuid_bytes || !texts_.is_blob(type_of(field)))
        return *bytes;
    Uuid uuid;
    std::ranges::transform(*bytes, uuid.bytes.begin(),
                           [](char c) { return static_cast<std::uint8_t>(c); });
    return uuid.to_string();
}

const std::string& ForeignSql::type_of(const std::string& field) const {
    return types_.at(table_.columns.at(field));
}

std::string ForeignSql::column(const std::string& field) const {
    return quoted(texts_.quote, table_.columns.at(field));
}

std::string ForeignSql::applied(const std::string& text, const std::string& field) const {
    std::string out = text;
    const std::string name = column(field);
    for (std::size_t at = out.find("{}"); at != std::string::npos;
         at = out.find("{}", at + name.size()))
        out.replace(at, 2, name);
    return out;
}

std::string ForeignSql::bytes_of(const std::string& field) const {
    return applied(texts_.is_blob(type_of(field)) ? texts_.blob_bytes : texts_.text_bytes, field);
}

// Some engines take a word for the number 0 where the two are compared: a column of numbers meets
// numbers alone, any other column words alone.
std::string ForeignSql::literal(const std::string& value) const {
    if (!is_word(value)) throw std::invalid_argument("status: its values are numbers or words");
    if (!texts_.is_number(type_of("status"))) return fmt::format("'{}'", value);
    if (!is_number(value))
        throw std::invalid_argument(
            fmt::format("status: '{}' is no number, but column '{}' of table {} holds numbers",
                        value, table_.columns.at("status"), table_.name));
    return value;
}

std::string ForeignSql::list_of(const std::vector<std::string>& values) const {
    std::vector<std::string> literals;
    literals.reserve(values.size());
    for (const std::string& value : values) literals.push_back(literal(value));
    return fmt::format("{}", fmt::join(literals, ", "));
}

std::string ForeignSql::status_is(std::string_view comparison) const {
    const std::string name =
        texts_.is_number(type_of("status")) ? column("status") : applied(texts_.word, "status");
    return fmt::format("{} {}", name, comparison);
}

void ForeignSql::require_states() const {
    if (!has("status")) return;
    for (const std::vector<std::string>* values : {&table_.pending, &table_.dead}) {
        list_of(*values);
        if (!table_.finished.empty() &&
            std::ranges::find(*values, table_.finished) != values->end())
            throw std::invalid_argument(
                fmt::format("table {}: the status '{}' cannot both wait for delivery, or be dead, "
                            "and be finished",
                            table_.name, table_.finished));
    }
    if (!table_.finished.empty()) literal(table_.finished);
    if (table_.pending.empty() && !has("is_processed") && !has("processed_at"))
        throw std::invalid_argument(
            fmt::format("table {}: its status alone tells what was delivered; say which values "
                        "wait for delivery (pending)",
                        table_.name));
}

// Not delivered, as far as the flags say.
std::string ForeignSql::open_condition() const {
    std::string out = "1 = 1";
    if (has("is_processed")) out += " AND " + applied(texts_.is_false, "is_processed");
    if (has("processed_at")) out += fmt::format(" AND {} IS NULL", column("processed_at"));
    if (has("status") && !table_.finished.empty())
        out += fmt::format(" AND ({} IS NULL OR {})", column("status"),
                           status_is("<> " + literal(table_.finished)));
    return out;
}

// Empty: none can be told.
std::string ForeignSql::dead_condition() const {
    std::vector<std::string> any;
    if (has("status") && !table_.dead.empty())
        any.push_back(fmt::format("({} IS NOT NULL AND {})", column("status"),
                                  status_is(fmt::format("IN ({})", list_of(table_.dead)))));
    if (has("retry_count") && has("max_attempts"))
        any.push_back(fmt::format("coalesce({} >= {}, 1 = 0)", column("retry_count"),
                                  column("max_attempts")));
    else if (has("retry_count") && table_.max_attempts > 0)
        any.push_back(
            fmt::format("coalesce({}, 0) >= {}", column("retry_count"), table_.max_attempts));
    return any.empty() ? "" : fmt::format("({})", fmt::join(any, " OR "));
}

void ForeignSql::waits(Writer& out, std::int64_t now_us, bool with_dead) const {
    std::string status;
    if (has("status") && !table_.pending.empty()) {
        std::vector<std::string> values = table_.pending;
        if (with_dead) values.insert(values.end(), table_.dead.begin(), table_.dead.end());
        status = " AND " + status_is(fmt::format("IN ({})", list_of(values)));
    }
    out.text(open_condition()).text(status);
    const std::string dead = dead_condition();
    if (!with_dead && !dead.empty()) out.text(" AND NOT ").text(dead);
    const auto unlocked = [&](const std::string& field, std::int64_t before) {
        if (!has(field)) return;
        out.text(fmt::format(" AND ({} IS NULL OR {} <= ", column(field),
                             applied(texts_.micros, field)))
            .value(before)
            .text(")");
    };
    unlocked("locked_until", now_us);
    unlocked("locked_at", now_us - table_.lock_timeout.count());
}

void ForeignSql::add_ids(Writer& out, const std::vector<std::string>& ids) const {
    const bool blob = texts_.is_blob(type_of("id"));
    out.text(column("id")).text(" IN (");
    bool first = true;
    const auto add = [&](SqlValue value) {
        if (!first) out.text(", ");
        first = false;
        out.value(std::move(value));
    };
    for (const std::string& hex : ids) {
        const std::string bytes = base::hex_decode(hex).value_or("");
        if (blob || texts_.loose_types) add(Blob{bytes});
        if (!blob || texts_.loose_types) add(bytes);
        std::int64_t number = 0;
        const char* const end = bytes.data() + bytes.size();
        const auto [read, error] = std::from_chars(bytes.data(), end, number);
        if (texts_.loose_types && error == std::errc{} && read == end) add(number);
    }
    out.text(")");
}

SqlStatement ForeignSql::count_pending(std::int64_t now_us) const {
    Writer out(placeholder_);
    out.text(fmt::format("SELECT count(*) FROM {} WHERE ", from_));
    waits(out, now_us, false);
    return out.take();
}

SqlStatement ForeignSql::count_dead() const {
    Writer out(placeholder_);
    const std::string dead = dead_condition();
    return out
        .text(fmt::format("SELECT count(*) FROM {} WHERE {} AND {}", from_, open_condition(),
                          dead.empty() ? "1 = 0" : dead))
        .take();
}

SqlStatement ForeignSql::count_without_key() const {
    Writer out(placeholder_);
    return out
        .text(fmt::format("SELECT count(*) FROM {} WHERE {} IS NULL AND {} IS NOT NULL", from_,
                          column("idempotency_key"), column("id")))
        .take();
}

SqlStatement ForeignSql::count_ids(const std::vector<std::string>& ids, bool without_key) const {
    Writer out(placeholder_);
    out.text(fmt::format("SELECT count(*) FROM {} WHERE ", from_));
    if (without_key) out.text(fmt::format("{} IS NULL AND ", column("idempotency_key")));
    add_ids(out, ids);
    return out.take();
}

SqlStatement ForeignSql::sizes(const std::vector<std::string>& ids) const {
    Writer out(placeholder_);
    const bool blob = texts_.is_blob(type_of("payload"));
    out.text(fmt::format("SELECT {}, {} FROM {} WHERE ", bytes_of("id"),
                         applied(blob ? texts_.blob_size : texts_.text_size, "payload"), from_));
    add_ids(out, ids);
    return out.take();
}

SqlStatement ForeignSql::chunk_ids(std::int64_t now_us, const AdoptRequest& request) const {
    Writer out(placeholder_);
    out.text(fmt::format("SELECT {} FROM {} WHERE ", bytes_of("id"), from_));
    waits(out, now_us, request.dead);
    out.text(" ORDER BY ");
    if (has("created_at")) out.text(column("created_at")).text(", ");
    return out.text(fmt::format("{} LIMIT {}", column("id"), request.chunk)).take();
}

SqlStatement ForeignSql::ids_without_key(std::uint32_t chunk) const {
    Writer out(placeholder_);
    return out
        .text(fmt::format("SELECT {} FROM {} WHERE {} IS NULL AND {} IS NOT NULL LIMIT {}{}",
                          bytes_of("id"), from_, column("idempotency_key"), column("id"), chunk,
                          texts_.lock))
        .take();
}

SqlStatement ForeignSql::chunk_rows(std::int64_t now_us, const AdoptRequest& request,
                                    const std::vector<std::string>& ids) const {
    Writer out(placeholder_);
    std::vector<std::string> columns;
    for (const std::string& field : fields_) {
        const bool time = std::ranges::find(time_fields, field) != time_fields.end();
        columns.push_back(is_text(field) ? bytes_of(field)
                          : time         ? applied(texts_.micros, field)
                                         : column(field));
    }
    out.text(fmt::format("SELECT {} FROM {} WHERE ", fmt::join(columns, ", "), from_));
    waits(out, now_us, request.dead);
    out.text(" AND ");
    add_ids(out, ids);
    // Of one ordering key nothing may be passed over.
    return out.text(has("ordering_key") ? texts_.lock_waiting : texts_.lock).take();
}

std::string ForeignSql::marks() const {
    std::vector<std::string> marks;
    const auto mark = [&](const std::string& field, const std::string& value) {
        marks.push_back(fmt::format("{} = {}", column(field), value));
    };
    if (has("is_processed")) mark("is_processed", texts_.true_as(type_of("is_processed")));
    if (has("processed_at")) mark("processed_at", texts_.now_as(type_of("processed_at")));
    if (has("status") && !table_.finished.empty()) mark("status", literal(table_.finished));
    if (marks.empty())
        throw std::invalid_argument(fmt::format(
            "table {}: no column tells that a row was processed; it could only be removed",
            table_.name));
    return fmt::format("{}", fmt::join(marks, ", "));
}

SqlStatement ForeignSql::finish(std::int64_t now_us, const AdoptRequest& request,
                                const std::vector<std::string>& ids) const {
    Writer out(placeholder_);
    out.text(request.remove ? fmt::format("DELETE FROM {} WHERE ", from_)
                            : fmt::format("UPDATE {} SET {} WHERE ", from_, marks()));
    waits(out, now_us, request.dead);
    out.text(" AND ");
    add_ids(out, ids);
    return out.take();
}

SqlStatement ForeignSql::set_key(const std::string& id, const std::string& key) const {
    Writer out(placeholder_);
    const std::string name = column("idempotency_key");
    out.text(fmt::format("UPDATE {} SET {} = ", from_, name));
    if (texts_.is_blob(type_of("idempotency_key"))) {
        const Uuid uuid = Uuid::parse(key).value();
        out.value(Blob{std::string(uuid.bytes.begin(), uuid.bytes.end())});
    } else {
        out.value(key);
    }
    out.text(fmt::format(" WHERE {} IS NULL AND ", name));
    add_ids(out, {id});
    return out.take();
}

}  // namespace postroom::sql
