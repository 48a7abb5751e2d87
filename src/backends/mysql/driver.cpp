#include "backends/mysql/driver.hpp"

#include <cstring>

#include <fmt/format.h>

#include "backends/mysql/errors.hpp"
#include "backends/mysql/row_values.hpp"
#include "backends/mysql/script.hpp"

namespace postroom::mysql {

namespace {

// More than the store has statements.
constexpr std::size_t cached_statements_max = 128;
// What a packet holds beside the values.
constexpr std::size_t packet_overhead = 16 * 1024;

// A transaction of ours goes on at once. When its client was stopped between two statements, the
// server ends it, so that its locks keep nobody waiting.
constexpr const char* idle_seconds_max = "5";

[[noreturn]] void refuse(const char* what) { throw Error(ErrorKind::misuse, what); }

Bindings bindings_of(const sql::Call& call) {
    Bindings out;
    for (const std::string& name : call.statement->names) out.add(call.params->at(name));
    return out;
}

std::vector<std::optional<std::string>> cells_of(MYSQL_ROW row, const unsigned long* lengths,
                                                 unsigned count) {
    std::vector<std::optional<std::string>> cells;
    for (unsigned i = 0; i < count; ++i) {
        cells.push_back(row[i] == nullptr ? std::nullopt
                                          : std::optional<std::string>({row[i], lengths[i]}));
    }
    return cells;
}

// Through the text protocol, which takes every statement there is. The rows of the last result.
SqlRows query(MYSQL* connection, const std::string& sql) {
    if (mysql_real_query(connection, sql.data(), sql.size()) != 0) throw error_of(connection);
    SqlRows rows;
    for (int more = 0; more == 0; more = mysql_next_result(connection)) {
        const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
            mysql_store_result(connection), &mysql_free_result);
        if (result == nullptr) {
            if (mysql_errno(connection) != 0) throw error_of(connection);
            continue;
        }
        rows.clear();
        while (const MYSQL_ROW row = mysql_fetch_row(result.get())) {
            rows.push_back(
                cells_of(row, mysql_fetch_lengths(result.get()), mysql_num_fields(result.get())));
        }
    }
    if (mysql_errno(connection) != 0) throw error_of(connection);
    return rows;
}

// Of one connection.
sql::StatementCache<Prepared> cache_for(MYSQL* connection) {
    return {cached_statements_max, [connection](const std::string& sql) {
                return std::make_shared<Prepared>(connection, sql);
            }};
}

}  // namespace

Driver::Driver(Session session)
    : ServerConnection(sql::standard_savepoint),
      session_(std::move(session)),
      connection_(session_.connection.get()),
      cache_(cache_for(connection_)) {}

Driver::Driver(MYSQL* borrowed, BorrowOptions options)
    : ServerConnection(sql::standard_savepoint, options),
      connection_(borrowed),
      cache_(cache_for(connection_)) {}

// A connection that was lost is not used again, and after a conflict the server is asked whether
// the transaction still stands. A procedure that the server cut off has left its transaction open,
// so after that a connection of ours is not used again either.
void Driver::failed(const Error& error) {
    const bool lost = is_loss(mysql_errno(connection_));
    cache_.clear();
    if (lost || error.kind() == ErrorKind::outcome_unknown ||
        (!borrowed() && error.kind() == ErrorKind::unavailable)) {
        give_up();
    } else if (error.kind() == ErrorKind::conflict && mysql_query(connection_, "DO 0") != 0) {
        give_up();
    }
}

// On MySQL a deployment drops a procedure before it creates it anew. Where there is a schema, one
// that is missing comes back in a moment, and the unit is repeated.
bool Driver::is_being_replaced(unsigned code) {
    if (borrowed() || session_.capabilities.replaces_routines || !is_missing_name(code))
        return false;
    try {
        query(connection_, "SELECT 1 FROM `postroom_migration` LIMIT 1");
        return true;
    } catch (const Error&) {
        return false;
    }
}

// A caller may be in the middle of something that a statement of ours would break.
void Driver::require_usable(sql::Bracket bracket) const {
    if (!borrowed()) return;
    // Our texts are UTF-8, and the server would take them for something else.
    if (std::strcmp(mysql_character_set_name(connection_), "utf8mb4") != 0)
        refuse("the borrowed connection has a character set other than utf8mb4");
    if (!in_transaction())
        refuse("the borrowed connection has no open transaction; begin one first");
    if (bracket != sql::Bracket::joined) refuse("a borrowed connection can only be joined");
}

// A statement of many rows may be sent in parts.
bool Driver::stands_alone(const sql::Call& call) {
    return ServerConnection::stands_alone(call) &&
           (row_count(call) == 0 || parts_of(call, packet_max() - packet_overhead).size() == 1);
}

bool Driver::was_refused() const { return is_refusal(mysql_errno(connection_)); }

void Driver::run_all(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
        run_call(calls[i], [&](const sql::Row& row) {
            if (on_row) on_row(i, row);
        });
    }
}

void Driver::run_call(const sql::Call& call, const std::function<void(const sql::Row&)>& on_row) {
    if (row_count(call) == 0) {
        Bindings bindings = bindings_of(call);
        return run_prepared(call.statement->sql, bindings, on_row);
    }
    std::size_t first = 0;
    for (const std::size_t count : parts_of(call, packet_max() - packet_overhead)) {
        Bindings bindings = bindings_of_rows(call, first, count);
        run_prepared(with_rows(*call.statement, count), bindings, on_row);
        first += count;
    }
}

void Driver::run_prepared(const std::string& sql, Bindings& bindings,
                          const std::function<void(const sql::Row&)>& on_row) {
    if (bindings.bytes() > packet_overhead &&
        bindings.bytes() + sql.size() + packet_overhead > packet_max()) {
        throw Error(ErrorKind::rejected,
                    fmt::format("the message needs about {} bytes in one packet, and the server's "
                                "max_allowed_packet is {}; raise that or send smaller payloads",
                                bindings.bytes(), packet_max()));
    }
    try {
        cache_.get(sql)->run(bindings, on_row);
    } catch (const Error& error) {
        if (is_being_replaced(mysql_errno(connection_)))
            throw Error(ErrorKind::conflict, error.what());
        throw;
    }
}

std::size_t Driver::packet_max() {
    if (session_.packet_max == 0) session_.packet_max = packet_max_of(connection_);
    return session_.packet_max;
}

void Driver::send_begin(std::span<const sql::Call> calls) {
    limit_idling(!calls.empty());
    send("START TRANSACTION");
}

// A user may do other things between two statements of a transaction, for as long as it takes.
void Driver::limit_idling(bool limited) {
    if (!session_.capabilities.idle_limit || limited == idling_limited_) return;
    simple(connection_, fmt::format("SET SESSION idle_transaction_timeout = {}",
                                    limited ? idle_seconds_max : "DEFAULT"));
    idling_limited_ = limited;
}

void Driver::send_commit() {
    try {
        send("COMMIT");
    } catch (const Error& error) {
        // Of a statement that was cut off nobody knows the outcome, and a commit that waited for
        // its log to be flushed may have happened whatever ended it.
        if (error.kind() != ErrorKind::unavailable) throw;
        throw Error(ErrorKind::outcome_unknown,
                    fmt::format("connection lost while committing: {}", error.what()));
    }
}

bool Driver::mark_stands() {
    try {
        send("RELEASE SAVEPOINT postroom_transaction");
        return true;
    } catch (const Error&) {
        if (!is_missing_name(mysql_errno(connection_))) throw;
        return false;
    }
}

// Without autocommit the next statement begins one.
bool Driver::in_transaction() const {
    const unsigned status = connection_->server_status;
    return (status & SERVER_STATUS_IN_TRANS) != 0 || (status & SERVER_STATUS_AUTOCOMMIT) == 0;
}

bool Driver::user_met_failure() const {
    const unsigned code = mysql_errno(connection_);
    return code != 0 && kind_of(code) != ErrorKind::rejected && kind_of(code) != ErrorKind::misuse;
}

// To begin a transaction commits the one before.
bool Driver::ends_transaction(std::string_view sql) const {
    const std::string word = sql::first_word(sql);
    return word == "BEGIN" || word == "START" || Connection::ends_transaction(sql);
}

// What undoes or releases a savepoint of the user takes every later one along, so the mark of a
// transaction is set before the first of them.
SqlRows Driver::execute(const SqlStatement& statement) {
    if (!borrowed() && in_transaction() && sql::first_word(statement.sql) == "SAVEPOINT")
        watch_transaction();
    SqlRows rows;
    guarded([&] {
        if (statement.params.empty()) {
            rows = query(connection_, statement.sql);
            return;
        }
        Bindings bindings;
        for (const SqlValue& value : statement.params) bindings.add(value);
        cache_.get(statement.sql)->run_as_text(bindings, rows);
    });
    return rows;
}

void Driver::execute_script(const std::string& script) {
    guarded([&] {
        for (const std::string& statement : split_script(script)) simple(connection_, statement);
    });
}

// After a deadlock there is no savepoint any more.
void Driver::rollback_quietly(const char* statement) noexcept {
    if (is_loss(mysql_errno(connection_))) return give_up();
    if (mysql_query(connection_, statement) != 0 && is_loss(mysql_errno(connection_))) give_up();
}

}  // namespace postroom::mysql
