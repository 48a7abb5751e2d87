#include "adoption/table_sql.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "base/hex.hpp"
#include "postroom/idempotency.hpp"

namespace postroom::adoption {

namespace {

using Kind = SqlColumn::Kind;

bool is_number(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Values of a status come from the operator: numbers, or words that need no escaping.
bool is_word(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '-' || c == ' ';
    });
}

Uuid uuid_of(const std::string& bytes) {
    Uuid uuid;
    std::ranges::copy(bytes, uuid.bytes.begin());
    return uuid;
}

}  // namespace

std::pair<std::string, std::string> split_name(const std::string& name) {
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) return {"", name};
    return {name.substr(0, dot), name.substr(dot + 1)};
}

TableSql::TableSql(const SqlWords& words, ClassicTable table, const SqlRows& catalog)
    : words_(words), table_(std::move(table)) {
    const auto [schema, name] = split_name(table_.name);
    from_ = words.quoted(schema, name);
    const auto name_in = [](const SqlRows::value_type& cells) { return cells.at(2).value_or(""); };
    for (const auto& [field, named] : table_.columns) {
        const auto at = std::ranges::find(catalog, named, name_in);
        if (at == catalog.end())
            throw std::invalid_argument(
                fmt::format("table {} has no column '{}'", table_.name, named));
        schema_ = at->at(0).value_or("");
        name_ = at->at(1).value_or("");
        columns_.emplace(field, words.column(words.quoted(named), at->at(3).value_or("")));
    }
    std::ranges::copy_if(fields(), std::back_inserter(read_), [this](const Field& field) {
        return field.kind != Field::Kind::state && has(field.name);
    });
}

const SqlColumn& TableSql::column(std::string_view field) const {
    return columns_.at(std::string(field));
}

std::string TableSql::text_of(std::string_view field, const std::string& hex) const {
    const std::optional<std::string> bytes = base::hex_decode(hex);
    if (!bytes) throw std::invalid_argument(fmt::format("{}: unreadable", field));
    const bool is_uuid = field != "payload" && bytes->size() == Uuid{}.bytes.size() &&
                         column(field).kind == Kind::bytes;
    return is_uuid ? uuid_of(*bytes).to_string() : *bytes;
}

Row TableSql::row_of(const SqlRows::value_type& cells) const {
    Row row;
    for (std::size_t i = 0; i < read_.size(); ++i) {
        if (!cells.at(i)) continue;
        const auto& [field, kind] = read_[i];
        row.emplace(field, kind == Field::Kind::text ? text_of(field, *cells[i]) : *cells[i]);
    }
    return row;
}

std::string TableSql::key_of(std::string_view id) const {
    return deterministic_key({"adopt", schema_, name_, id}).to_string();
}

// Some engines take a word for the number 0 where the two are compared: a column of numbers meets
// numbers alone, any other column words alone.
std::string TableSql::status_literal(const std::string& value) const {
    if (!is_word(value)) throw std::invalid_argument("status: its values are numbers or words");
    if (column("status").kind != Kind::number) return fmt::format("'{}'", value);
    if (!is_number(value))
        throw std::invalid_argument(
            fmt::format("status: '{}' is no number, but column '{}' of table {} holds numbers",
                        value, table_.columns.at("status"), table_.name));
    return value;
}

std::string TableSql::status_in(const std::vector<std::string>& values) const {
    const SqlColumn& status = column("status");
    std::vector<std::string> literals;
    for (const std::string& value : values) literals.push_back(status_literal(value));
    return fmt::format("{} IN ({})", status.kind == Kind::number ? status.name : status.word,
                       fmt::join(literals, ", "));
}

void TableSql::require_states() const {
    if (!has("status")) return;
    for (const std::vector<std::string>* values : {&table_.pending, &table_.dead})
        if (!table_.finished.empty() &&
            std::ranges::find(*values, table_.finished) != values->end())
            throw std::invalid_argument(
                fmt::format("table {}: the status '{}' cannot both wait for delivery, or be dead, "
                            "and be finished",
                            table_.name, table_.finished));
    if (table_.pending.empty() && !has("is_processed") && !has("processed_at"))
        throw std::invalid_argument(
            fmt::format("table {}: its status alone tells what was delivered; say which values "
                        "wait for delivery (pending)",
                        table_.name));
}

// As far as the flags say.
std::string TableSql::not_delivered() const {
    std::string out = "1 = 1";
    if (has("is_processed")) {
        const SqlColumn& flag = column("is_processed");
        out += fmt::format(" AND ({0} IS NULL OR {0} = {1})", flag.name, flag.no);
    }
    if (has("processed_at")) out += fmt::format(" AND {} IS NULL", column("processed_at").name);
    if (has("status") && !table_.finished.empty())
        out += fmt::format(" AND ({} IS NULL OR NOT {})", column("status").name,
                           status_in({table_.finished}));
    return out;
}

std::string TableSql::given_up() const {
    std::string any = "1 = 0";
    if (has("status") && !table_.dead.empty())
        any += fmt::format(" OR ({} IS NOT NULL AND {})", column("status").name,
                           status_in(table_.dead));
    if (has("retry_count")) {
        const std::string& count = column("retry_count").name;
        if (has("max_attempts"))
            any += fmt::format(" OR ({0} IS NOT NULL AND {1} IS NOT NULL AND {0} >= {1})", count,
                               column("max_attempts").name);
        else if (table_.max_attempts > 0)
            any += fmt::format(" OR coalesce({}, 0) >= {}", count, table_.max_attempts);
    }
    return fmt::format("({})", any);
}

std::string TableSql::dead() const { return fmt::format("{} AND {}", not_delivered(), given_up()); }

std::string TableSql::waiting(Instant now, bool with_dead) const {
    require_states();
    std::string out = not_delivered();
    if (has("status") && !table_.pending.empty()) {
        std::vector<std::string> values = table_.pending;
        if (with_dead) values.insert(values.end(), table_.dead.begin(), table_.dead.end());
        out += " AND " + status_in(values);
    }
    if (!with_dead) out += " AND NOT " + given_up();
    const auto unlocked = [&](std::string_view field, Instant before) {
        if (!has(field)) return;
        out += fmt::format(" AND ({} IS NULL OR {} <= {})", column(field).name,
                           column(field).microseconds, before.time_since_epoch().count());
    };
    unlocked("locked_until", now);
    unlocked("locked_at", now - table_.lock_timeout);
    return out;
}

std::string TableSql::keyless() const {
    return fmt::format("{} IS NULL AND {} IS NOT NULL", column("idempotency_key").name,
                       column("id").name);
}

std::string TableSql::among(const Ids& ids, const std::string& where, SqlStatement& out) const {
    std::vector<std::string> parameters;
    for (const std::string& hex : ids) {
        for (SqlValue& value : words_.forms(column("id"), base::hex_decode(hex).value_or(""))) {
            out.params.push_back(std::move(value));
            parameters.push_back(words_.parameter(out.params.size()));
        }
    }
    return fmt::format("{} AND {} IN ({})", where, column("id").name, fmt::join(parameters, ", "));
}

SqlStatement TableSql::count(const std::string& where) const {
    return {.sql = words_.select({.what = "count(*)", .from = from_, .where = where})};
}

SqlStatement TableSql::oldest(const std::string& where, std::uint32_t rows) const {
    SqlSelect parts{.what = column("id").hex, .from = from_, .where = where, .rows = rows};
    if (has("created_at")) parts.order = column("created_at").name + ", ";
    parts.order += column("id").name;
    return {.sql = words_.select(parts)};
}

SqlStatement TableSql::locked(const std::string& where, std::uint32_t rows) const {
    return {.sql = words_.select({.what = column("id").hex,
                                  .from = from_,
                                  .where = where,
                                  .rows = rows,
                                  .lock = SqlSelect::Lock::skip})};
}

SqlStatement TableSql::sizes(const Ids& ids, const std::string& where) const {
    SqlStatement out;
    const std::string what = column("id").hex + ", " + column("payload").byte_count;
    out.sql = words_.select({.what = what, .from = from_, .where = among(ids, where, out)});
    return out;
}

SqlStatement TableSql::locked_rows(const Ids& ids, const std::string& where) const {
    std::vector<std::string> what;
    for (const auto& [field, kind] : read_)
        what.push_back(kind == Field::Kind::text   ? column(field).hex
                       : kind == Field::Kind::time ? column(field).microseconds
                                                   : column(field).name);
    SqlStatement out;
    // Of one ordering key nothing may be passed over.
    out.sql = words_.select(
        {.what = fmt::format("{}", fmt::join(what, ", ")),
         .from = from_,
         .where = among(ids, where, out),
         .lock = has("ordering_key") ? SqlSelect::Lock::wait : SqlSelect::Lock::skip});
    return out;
}

std::string TableSql::marks() const {
    std::vector<std::string> marks;
    const auto mark = [&](std::string_view field, const std::string& value) {
        marks.push_back(fmt::format("{} = {}", column(field).name, value));
    };
    if (has("is_processed")) mark("is_processed", column("is_processed").yes);
    if (has("processed_at")) mark("processed_at", column("processed_at").now);
    if (has("status") && !table_.finished.empty()) mark("status", status_literal(table_.finished));
    return fmt::format("{}", fmt::join(marks, ", "));
}

SqlStatement TableSql::finish(const Ids& ids, const std::string& where, bool remove) const {
    SqlStatement out;
    const std::string rows = among(ids, where, out);
    out.sql = remove ? fmt::format("DELETE FROM {} WHERE {}", from_, rows)
                     : fmt::format("UPDATE {} SET {} WHERE {}", from_, marks(), rows);
    return out;
}

SqlStatement TableSql::set_key(const std::string& id, const std::string& key) const {
    const SqlColumn& keys = column("idempotency_key");
    const Uuid uuid = Uuid::parse(key).value();
    SqlStatement out;
    if (keys.kind == Kind::bytes)
        out.params.emplace_back(Blob{std::string(uuid.bytes.begin(), uuid.bytes.end())});
    else
        out.params.emplace_back(key);
    out.sql = fmt::format("UPDATE {} SET {} = {} WHERE {}", from_, keys.name, words_.parameter(1),
                          among({id}, keyless(), out));
    return out;
}

}  // namespace postroom::adoption
