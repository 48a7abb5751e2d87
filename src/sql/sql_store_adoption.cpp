// SqlStore: tables of others.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

std::string key_of(const ForeignTable& table, const std::string& id) {
    return deterministic_key({"adopt", table.name, id}).to_string();
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

NewMessage message_of(const ForeignTable& table, const ForeignRow& row) {
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
    if (row.has("priority"))
        message.priority = static_cast<std::int32_t>(number_of("priority", row.text("priority")));
    return message;
}

std::vector<std::string> first_column(const SqlRows& rows) {
    std::vector<std::string> out;
    out.reserve(rows.size());
    for (const auto& row : rows) out.push_back(row.at(0).value_or(""));
    return out;
}

std::uint64_t count_in(const SqlRows& rows) {
    return static_cast<std::uint64_t>(number_of("count", rows.at(0).at(0).value_or("0")));
}

}  // namespace

std::map<std::string, std::string> SqlStore::types_of(TxContext& tx, const std::string& table) {
    const auto [schema, name] = split_name(table);
    const std::string full =
        (schema.empty() ? "" : quoted(foreign_.quote, schema) + ".") + quoted(foreign_.quote, name);
    const Statement statement = Statement::compile(foreign_.columns, placeholder_);
    SqlStatement ask{.sql = statement.sql, .params = {}};
    for (const std::string& param : statement.names)
        ask.params.emplace_back(param == "name" ? full : param == "schema" ? schema : name);
    std::map<std::string, std::string> types;
    for (const auto& row : tx.execute(ask))
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
    const std::unique_ptr<Transaction> tx = begin();
    const ForeignSql sql(foreign_, placeholder_, table, types_of(*tx, table.name));
    return {.pending = count_in(tx->execute(sql.count_pending(at))),
            .dead = count_in(tx->execute(sql.count_dead()))};
}

AdoptResult SqlStore::adopt(const AdoptRequest& request) {
    const std::int64_t at = now().time_since_epoch().count();
    const std::unique_ptr<Transaction> tx = begin();
    const ForeignSql sql(foreign_, placeholder_, request.table, types_of(*tx, request.table.name));
    // First which ones, in order, then those alone are locked: a lock on a sorted search would hold
    // all that wait.
    const std::vector<std::string> ids = first_column(tx->execute(sql.chunk_ids(at, request)));
    if (ids.empty()) return {};
    std::map<std::string, NewMessage> by_id;
    for (const Cells& cells : tx->execute(sql.chunk_rows(at, request, ids))) {
        const ForeignRow row(sql, cells);
        try {
            NewMessage message = message_of(request.table, row);
            validate(message, limits());
            by_id.emplace(row.id_hex(), std::move(message));
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument(fmt::format("row '{}' of table {}: {}", row.id(),
                                                    request.table.name, error.what()));
        }
    }
    std::vector<std::string> taken;
    std::vector<NewMessage> messages;
    for (const std::string& id : ids) {
        const auto at_id = by_id.find(id);
        if (at_id == by_id.end()) continue;
        taken.push_back(id);
        messages.push_back(std::move(at_id->second));
    }
    if (taken.empty()) return {};
    AdoptResult result{.rows = taken.size()};
    for (const EnqueueResult& one : enqueue(tx.get(), messages, nullptr))
        result.enqueued += one.already_existed ? 0 : 1;
    tx->execute(sql.finish(taken, request.remove));
    tx->commit();
    announce(Queue::outbox);
    return result;
}

std::uint64_t SqlStore::count_without_key(const ForeignTable& table) {
    const std::unique_ptr<Transaction> tx = begin();
    const ForeignSql sql(foreign_, placeholder_, table, types_of(*tx, table.name));
    return count_in(tx->execute(sql.count_without_key()));
}

std::uint64_t SqlStore::backfill(const ForeignTable& table, std::uint32_t chunk) {
    const std::unique_ptr<Transaction> tx = begin();
    const ForeignSql sql(foreign_, placeholder_, table, types_of(*tx, table.name));
    const std::vector<std::string> ids = first_column(tx->execute(sql.ids_without_key(chunk)));
    for (const std::string& id : ids)
        tx->execute(sql.set_key(id, key_of(table, sql.text_of("id", id))));
    tx->commit();
    return ids.size();
}

}  // namespace postroom::sql
