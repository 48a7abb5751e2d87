#include "conformance/mysql/procedure_store.hpp"

#include <fmt/format.h>

#include <utility>

#include "backends/mysql/errors.hpp"
#include "base/json_map.hpp"
#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "postroom/error.hpp"

namespace postroom::test {

namespace {

// As a DATETIME is written in JSON; empty for none.
std::string datetime(const std::optional<Instant>& time) {
    if (!time) return {};
    std::string text = base::rfc3339(*time);
    text.pop_back();  // times are UTC, and not marked as such
    return text;
}

std::string quoted(MYSQL* connection, std::string_view bytes) {
    std::string text(2 * bytes.size() + 1, '\0');
    text.resize(mysql_real_escape_string(connection, text.data(), bytes.data(), bytes.size()));
    return "'" + text + "'";
}

std::string literal(MYSQL* connection, const SqlValue& value) {
    if (const auto* const number = std::get_if<std::int64_t>(&value))
        return std::to_string(*number);
    if (const auto* const text = std::get_if<std::string>(&value)) return quoted(connection, *text);
    if (const auto* const blob = std::get_if<Blob>(&value))
        return "_binary" + quoted(connection, blob->bytes);
    return "NULL";
}

// A session in autocommit: each statement is a transaction of its own.
class AutocommitContext final : public TxContext {
public:
    explicit AutocommitContext(NativeSession& session) : session_(session) {}

    bool in_transaction() const override { return false; }
    SqlRows execute(const SqlStatement& statement) override {
        std::string sql;
        std::size_t next = 0;
        for (const char c : statement.sql) {
            if (c == '?')
                sql += literal(session_.handle(), statement.params.at(next++));
            else
                sql += c;
        }
        try {
            return session_.run(sql);
        } catch (const std::runtime_error& error) {
            throw Error(mysql::kind_of(mysql_errno(session_.handle())), error.what());
        }
    }
    bool reports_end() const override { return false; }
    void after_commit(std::function<void()>) override { refuse(); }
    void after_rollback(std::function<void()>) override { refuse(); }

private:
    [[noreturn]] static void refuse() { throw Error(ErrorKind::misuse, "there is no transaction"); }

    NativeSession& session_;
};

}  // namespace

ProcedureStore::ProcedureStore(Store& inner, std::string url)
    : RoutineStore(inner), url_(std::move(url)) {}

std::unique_ptr<NativeSession> ProcedureStore::take_session() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<NativeSession>(url_);
    std::unique_ptr<NativeSession> session = std::move(idle_.back());
    idle_.pop_back();
    return session;
}

void ProcedureStore::alone(const Act& act) {
    std::unique_ptr<NativeSession> session = take_session();
    AutocommitContext context(*session);
    act(context);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(session));
}

SqlRows ProcedureStore::call(TxContext& tx, Queue queue, std::string_view verb,
                             const Arguments& arguments) {
    const SqlRows rows =
        tx.execute(statement(fmt::format("CALL {}_{}(", to_string(queue), verb), arguments, ")"));
    // This one yields a row for each message, and not their number.
    if (verb == "extend") return {{std::to_string(rows.size())}};
    return rows;
}

EnqueueResult ProcedureStore::enqueue_one(TxContext& tx, const NewMessage& m) {
    base::JsonObject options;
    options.add("message_id", m.message_id.str())
        .add("content_type", m.content_type)
        .add("aggregate_type", m.aggregate_type.str())
        .add("priority", m.priority)
        .add("max_attempts", m.max_attempts)
        .add_text("correlation_id", m.correlation_id)
        .add_text("tenant_id", m.tenant_id)
        .add_text("idempotency_key", m.idempotency_key)
        .add_text("ordering_key", m.ordering_key)
        .add_text("aggregate_id", m.aggregate_id)
        .add_text("due_time", datetime(m.due_time))
        .add_text("expires_at", datetime(m.expires_at))
        .add_text("occurred_at", datetime(m.occurred_at));
    if (!m.headers.empty()) options.add_json("headers", base::to_json(m.headers));
    const SqlRows rows = call(tx, Queue::outbox, "enqueue_with",
                              {Argument::text(m.topic.str()), Argument::bytes(*m.payload),
                               Argument::text(options.text())});
    const WorkItemId id = item_in(rows);
    if (rows.at(0).at(1) == "0") return {.id = id, .message_id = m.message_id};
    return {.id = id, .message_id = message_id_of(tx, "outbox", id), .already_existed = true};
}

WorkItemId ProcedureStore::receive_one(TxContext& tx, const ReceivedMessage& m, bool revive) {
    base::JsonObject options;
    options.add("content_type", m.content_type)
        .add("priority", m.priority)
        .add("max_attempts", m.max_attempts)
        .add("revive", revive)
        .add_text("ordering_key", m.ordering_key)
        .add_text("due_time", datetime(m.due_time))
        .add_text("expires_at", datetime(m.expires_at));
    if (!m.headers.empty()) options.add_json("headers", base::to_json(m.headers));
    return item_in(call(tx, Queue::inbox, "enqueue_with",
                        {Argument::text(m.topic.str()), Argument::text(m.source),
                         Argument::text(m.message_id), Argument::bytes(*m.payload),
                         Argument::bytes_or_null(m.hash), Argument::text(options.text())}));
}

// The procedures take durations in seconds, with a fraction.
std::string ProcedureStore::parameter(int /*number*/, Argument::Type type) const {
    return type == Argument::Type::duration ? "? * 0.000001" : "?";
}

std::string ProcedureStore::hex(const std::string& column) const {
    return fmt::format("LOWER(HEX({}))", column);
}

std::string ProcedureStore::abandoned_rows(Queue queue) const {
    return fmt::format("{}_in_waiting", to_string(queue));
}

std::string ProcedureStore::inbox_rows() const { return "inbox_key AS k"; }

// The key of a message that is queued does not know what became of its content.
std::string ProcedureStore::inbox_state() const {
    return "COALESCE((SELECT v.state FROM inbox_in_live AS v WHERE v.seq = k.seq), "
           "(SELECT v.state FROM inbox_in_waiting AS v WHERE v.seq = k.seq), k.state)";
}

}  // namespace postroom::test
