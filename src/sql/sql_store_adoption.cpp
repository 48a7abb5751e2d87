// SqlStore: tables of others.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

#include "base/hex.hpp"
#include "base/json_map.hpp"
#include "postroom/idempotency.hpp"
#include "sql/foreign_table.hpp"
#include "sql/sql_store.hpp"

namespace postroom::sql {

namespace {

using Cells = std::vector<std::optional<std::string>>;

constexpr std::size_t ulid_chars = 26;

// Bounds what one transaction holds in memory, here and there.
constexpr std::uint64_t chunk_bytes_max = std::uint64_t{16} * 1024 * 1024;

// A table's schema and name, as its keys follow from them.
using Identity = std::pair<std::string, std::string>;

std::string key_of(const Identity& table, const std::string& id) {
    return deterministic_key({"adopt", table.first, table.second, id}).to_string();
}

// An id that is unique in its own table only would meet others like it here.
bool is_unique_anywhere(const std::string& id) {
    return Uuid::parse(id).has_value() || id.size() == ulid_chars;
}

std::int64_t number_of(const std::string& field, const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        throw std::invalid_argument(fmt::format("{}: not a whole number", field));
    return value;
}

// One row of the table, by field. What is NULL is not there.
class ForeignRow {
public:
    ForeignRow(const ForeignSql& sql, const Cells& cells) {
        for (std::size_t i = 0; i < sql.fields().size(); ++i) {
            const std::string& field = sql.fields()[i];
            if (!cells.at(i)) continue;
            if (field == "id") id_hex_ = *cells[i];
            values_[field] = ForeignSql::is_text(field) ? sql.text_of(field, *cells[i]) : *cells[i];
        }
    }

    const std::string& id_hex() const { return id_hex_; }
    const std::string& id() const { return values_.at("id"); }
    bool has(const std::string& field) const { return values_.contains(field); }
    std::string text(const std::string& field) const {
        const auto at = values_.find(field);
        return at == values_.end() ? "" : at->second;
    }
    std::optional<Instant> time(const std::string& field) const {
        if (!has(field)) return std::nullopt;
        return Instant{Duration{number_of(field, values_.at(field))}};
    }
    std::optional<std::uint32_t> count(const std::string& field) const {
        if (!has(field)) return std::nullopt;
        const std::int64_t value = number_of(field, values_.at(field));
        if (value <= 0 || value > INT32_MAX) return std::nullopt;
        return static_cast<std::uint32_t>(value);
    }

private:
    std::string id_hex_;
    std::map<std::string, std::string> values_;
};

Headers headers_of(const ForeignRow& row) {
    if (row.text("headers").empty()) return {};
    const std::optional<Headers> headers = base::map_from_json(row.text("headers"));
    if (!headers) throw std::invalid_argument("headers: not a JSON object");
    return *headers;
}

std::int32_t priority_of(const ForeignRow& row) {
    const std::int64_t priority = number_of("priority", row.text("priority"));
    if (priority < INT32_MIN || priority > INT32_MAX)
        throw std::invalid_argument("priority: out of range");
    return static_cast<std::int32_t>(priority);
}

NewMessage message_of(const Identity& table, const ForeignRow& row) {
    NewMessage message;
    const std::string key = key_of(table, row.id());
    const std::string id = row.text("message_id").empty() ? row.id() : row.text("message_id");
    message.message_id = MessageId(is_unique_anywhere(id) ? id : key);
    message.topic = TopicName(row.text("topic"));
    if (!row.has("payload")) throw std::invalid_argument("payload: missing");
    message.payload = row.text("payload");
    if (!row.text("content_type").empty()) message.content_type = row.text("content_type");
    message.headers = headers_of(row);
    message.correlation_id = row.text("correlation_id");
    message.tenant_id = row.text("tenant_id");
    message.idempotency_key =
        row.text("idempotency_key").empty() ? key : row.text("idempotency_key");
    if (!row.text("aggregate_type").empty())
        message.aggregate_type = AggregateType(row.text("aggregate_type"));
    message.aggregate_id = row.text("aggregate_id");
    message.ordering_key = row.text("ordering_key");
    message.occurred_at = row.has("occurred_at") ? row.time("occurred_at") : row.time("created_at");
    message.due_time = row.time("due_time");
    const std::optional<Instant> next = row.time("next_attempt_at");
    if (next && (!message.due_time || *next > *message.due_time)) message.due_time = next;
    message.expires_at = row.time("expires_at");
    message.max_attempts = row.count("max_attempts");
    if (row.has("priority")) message.priority = priority_of(row);
    return message;
}

std::vector<std::string> first_column(const SqlRows& rows) {
    std::vector<std::string> out;
    out.reserve(rows.size());
    for (const auto& row : rows) {
        if (!row.at(0)) throw std::invalid_argument("a row that waits has no id");
        out.push_back(*row[0]);
    }
    return out;
}

std::uint64_t count_in(const SqlRows& rows) {
    return static_cast<std::uint64_t>(number_of("count", rows.at(0).at(0).value_or("0")));
}

// Outside of any transaction: where a table is large, counting takes its time, and writers shall
// not wait for it. The values of the statement are numbers.
std::uint64_t count_alone(Runner& runner, const SqlStatement& statement) {
    static const std::vector<std::string> names{"v1", "v2", "v3", "v4"};
    Unit unit{.statements = {{.sql = statement.sql, .names = {}}}};
    Batch batch;
    Params& params = batch.add(unit);
    for (std::size_t i = 0; i < statement.params.size(); ++i) {
        unit.statements[0].names.push_back(names.at(i));
        params.set(names.at(i), std::get<std::int64_t>(statement.params[i]));
    }
    std::int64_t count = 0;
    runner.run(
        nullptr, batch, false, [] {}, [&](std::size_t, const Row& row) { count = row.integer(0); });
    return static_cast<std::uint64_t>(count);
}

// One statement marks many rows by their ids: it must meet those and no others.
void require_unique(TxContext& tx, const ForeignSql& sql, const ForeignTable& table,
                    const std::vector<std::string>& ids) {
    const auto fail = [&](const char* what) {
        throw std::invalid_argument(fmt::format("table {}: its id, column '{}', {}", table.name,
                                                table.columns.at("id"), what));
    };
    const std::uint64_t found = count_in(tx.execute(sql.count_ids(ids)));
    if (found > ids.size() || std::set<std::string>(ids.begin(), ids.end()).size() < ids.size())
        fail("is not unique");
    if (found < ids.size()) fail("does not find its rows again");
}

std::invalid_argument in_row(const ForeignTable& table, const std::string& id, const char* what) {
    return std::invalid_argument(fmt::format("row '{}' of table {}: {}", id, table.name, what));
}

// As many of `ids`, from the first, as a transaction may hold; one at least.
std::vector<std::string> within_bytes(TxContext& tx, const ForeignSql& sql,
                                      const ForeignTable& table, std::vector<std::string> ids,
                                      const Limits& limits) {
    std::map<std::string, std::uint64_t> sizes;
    for (const Cells& cells : tx.execute(sql.sizes(ids)))
        sizes[cells.at(0).value_or("")] =
            static_cast<std::uint64_t>(number_of("payload", cells.at(1).value_or("0")));
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::uint64_t size = sizes[ids[i]];
        bytes += size;
        if (i > 0 && bytes > chunk_bytes_max) {
            ids.resize(i);
            break;
        }
        if (size > limits.max_payload_bytes)
            throw in_row(table, sql.text_of("id", ids[i]),
                         "payload: larger than max_payload_bytes");
    }
    return ids;
}

// Those of a chunk that could be locked, by the hex of their ids.
std::map<std::string, NewMessage> messages_of(const SqlRows& rows, const ForeignSql& sql,
                                              const ForeignTable& table, const Identity& identity,
                                              const Limits& limits) {
    std::map<std::string, NewMessage> by_id;
    for (const Cells& cells : rows) {
        const ForeignRow row(sql, cells);
        try {
            NewMessage message = message_of(identity, row);
            validate(message, limits);
            if (!by_id.emplace(row.id_hex(), std::move(message)).second)
                throw std::invalid_argument("its id is not unique");
        } catch (const std::invalid_argument& error) {
            throw in_row(table, row.id(), error.what());
        }
    }
    return by_id;
}

// `text` with the table's name for its parameters.
SqlStatement about_table(const ForeignTexts& texts, Placeholder placeholder,
                         const std::string& text, const std::string& table) {
    const auto [schema, name] = split_name(table);
    const std::string full =
        (schema.empty() ? "" : quoted(texts.quote, schema) + ".") + quoted(texts.quote, name);
    const Statement statement = Statement::compile(text, placeholder);
    SqlStatement ask{.sql = statement.sql, .params = {}};
    for (const std::string& param : statement.names)
        ask.params.emplace_back(param == "name" ? full : param == "schema" ? schema : name);
    return ask;
}

Identity identity_of(TxContext& tx, const ForeignTexts& texts, Placeholder placeholder,
                     const std::string& table) {
    const SqlRows rows = tx.execute(about_table(texts, placeholder, texts.identity, table));
    if (rows.empty()) throw std::invalid_argument(fmt::format("there is no table {}", table));
    return {rows[0].at(0).value_or(""), rows[0].at(1).value_or("")};
}

}  // namespace

std::map<std::string, std::string> SqlStore::types_of(TxContext& tx, const std::string& table) {
    std::map<std::string, std::string> types;
    for (const auto& row : tx.execute(about_table(foreign_, placeholder_, foreign_.columns, table)))
        types.emplace(row.at(0).value_or(""), row.at(1).value_or(""));
    return types;
}

std::vector<std::string> SqlStore::columns_of(const std::string& table) {
    const std::unique_ptr<Transaction> tx = begin();
    std::vector<std::string> names;
    for (const auto& [name, type] : types_of(*tx, table)) names.push_back(name);
    return names;
}

AdoptCounts SqlStore::count(const ForeignTable& table) {
    const std::int64_t at = now().time_since_epoch().count();
    const ForeignSql sql(foreign_, placeholder_, table, types_of(*begin(), table.name));
    sql.require_states();
    return {.pending = count_alone(runner_, sql.count_pending(at)),
            .dead = count_alone(runner_, sql.count_dead())};
}

AdoptResult SqlStore::adopt(const AdoptRequest& request) {
    const ForeignTable& table = request.table;
    const std::int64_t at = now().time_since_epoch().count();
    const std::unique_ptr<Transaction> tx = begin();
    const ForeignSql sql(foreign_, placeholder_, table, types_of(*tx, table.name));
    sql.require_states();
    // First which ones, in order, then those alone are locked: a lock on a sorted search would hold
    // all that wait.
    std::vector<std::string> ids = first_column(tx->execute(sql.chunk_ids(at, request)));
    if (ids.empty()) return {};
    ids = within_bytes(*tx, sql, table, std::move(ids), limits());
    std::map<std::string, NewMessage> by_id =
        messages_of(tx->execute(sql.chunk_rows(at, request, ids)), sql, table,
                    identity_of(*tx, foreign_, placeholder_, table.name), limits());
    std::vector<std::string> taken;
    std::vector<NewMessage> messages;
    for (const std::string& id : ids) {
        const auto at_id = by_id.find(id);
        if (at_id == by_id.end()) continue;
        taken.push_back(id);
        messages.push_back(std::move(at_id->second));
        by_id.erase(at_id);
    }
    if (taken.empty()) {
        // Held or removed by others in the meantime, or the id cannot be looked for at all.
        if (count_in(tx->execute(sql.count_ids(ids))) == 0 &&
            first_column(tx->execute(sql.chunk_ids(at, request))) == ids)
            require_unique(*tx, sql, table, ids);
        return {.held = true};
    }
    require_unique(*tx, sql, table, taken);
    AdoptResult result{.rows = taken.size()};
    for (const EnqueueResult& one : enqueue(tx.get(), messages, nullptr))
        result.enqueued += one.already_existed ? 0 : 1;
    tx->execute(sql.finish(at, request, taken));
    tx->commit();
    announce(Queue::outbox);
    return result;
}

std::uint64_t SqlStore::count_without_key(const ForeignTable& table) {
    const ForeignSql sql(foreign_, placeholder_, table, types_of(*begin(), table.name));
    return count_alone(runner_, sql.count_without_key());
}

std::uint64_t SqlStore::backfill(const ForeignTable& table, std::uint32_t chunk) {
    const std::unique_ptr<Transaction> tx = begin();
    const ForeignSql sql(foreign_, placeholder_, table, types_of(*tx, table.name));
    const std::vector<std::string> ids = first_column(tx->execute(sql.ids_without_key(chunk)));
    if (ids.empty()) return 0;
    require_unique(*tx, sql, table, ids);
    const Identity identity = identity_of(*tx, foreign_, placeholder_, table.name);
    for (const std::string& id : ids)
        tx->execute(sql.set_key(id, key_of(identity, sql.text_of("id", id))));
    const std::uint64_t left = count_in(tx->execute(sql.count_ids(ids, true)));
    if (left >= ids.size())
        throw std::invalid_argument(
            fmt::format("table {} does not keep the keys it is given", table.name));
    tx->commit();
    return ids.size() - left;
}

}  // namespace postroom::sql
