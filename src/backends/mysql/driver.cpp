#include "backends/mysql/driver.hpp"

#include <algorithm>
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

// A statement that undoes itself when it fails; a procedure runs several.
bool stands_alone(const sql::Call& call) {
    return !call.statement->sql.starts_with("CALL ") && row_count(call) == 0;
}

// A procedure that is a transaction by itself where none is open.
bool has_own_transaction(const sql::Call& call) {
    return call.statement->sql.starts_with("CALL /*own*/ ");
}

bool only_reads(const sql::Call& call) { return call.statement->sql.starts_with("SELECT "); }

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

}  // namespace

std::shared_ptr<Prepared> StatementCache::get(MYSQL* connection, const std::string& sql) {
    if (const auto found = by_sql_.find(sql); found != by_sql_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return entries_.front().prepared;
    }
    auto prepared = std::make_shared<Prepared>(connection, sql);
    entries_.push_front({sql, prepared});
    by_sql_.emplace(entries_.front().sql, entries_.begin());
    if (entries_.size() > cached_statements_max) {
        by_sql_.erase(entries_.back().sql);
        entries_.pop_back();
    }
    return prepared;
}

void StatementCache::clear() {
    by_sql_.clear();
    entries_.clear();
}

Driver::Driver(Session session)
    : borrowed_(false), session_(std::move(session)), connection_(session_.connection.get()) {}

Driver::Driver(MYSQL* borrowed) : borrowed_(true), connection_(borrowed) {}

// Around everything that runs: a borrowed connection keeps no statement of ours, one that was lost
// is not used again, and after a conflict the server is asked whether the transaction still stands.
template <class Work>
void Driver::guarded(const Work& work) {
    try {
        work();
    } catch (const Error& error) {
        // A procedure that the server cut off has left its transaction open, so after that a
        // connection of ours is not used again either.
        const bool lost = is_loss(mysql_errno(connection_));
        cache_.clear();
        if (lost || error.kind() == ErrorKind::outcome_unknown ||
            (!borrowed_ && error.kind() == ErrorKind::unavailable)) {
            broken_ = true;
        } else if (error.kind() == ErrorKind::conflict && mysql_query(connection_, "DO 0") != 0) {
            broken_ = true;
        }
        throw;
    } catch (...) {
        cache_.clear();
        throw;
    }
    if (borrowed_) cache_.clear();
}

// A caller may be in the middle of something that a statement of ours would break.
void Driver::require_usable() const {
    if (!borrowed_) return;
    // Our texts are UTF-8, and the server would take them for something else.
    if (std::strcmp(mysql_character_set_name(connection_), "utf8mb4") != 0)
        refuse("the borrowed connection has a character set other than utf8mb4");
    if (!in_transaction())
        refuse("the borrowed connection has no open transaction; begin one first");
}

void Driver::run(sql::Bracket bracket, std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    require_usable();
    if (borrowed_ && bracket != sql::Bracket::joined)
        refuse("a borrowed connection can only be joined");
    guarded([&] {
        switch (bracket) {
            case sql::Bracket::transaction:
                return run_in_transaction(calls, on_row);
            case sql::Bracket::separate:
                return run_separately(calls, on_row);
            case sql::Bracket::joined:
                return run_joined(calls, on_row);
        }
    });
}

void Driver::run_in_transaction(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    if (calls.size() == 1 && (stands_alone(calls[0]) || has_own_transaction(calls[0]))) {
        try {
            return run_all(calls, on_row);
        } catch (const Error& error) {
            // Cut off, it may have left its transaction open.
            if (has_own_transaction(calls[0])) rollback_quietly("ROLLBACK");
            // It commits by itself, so nobody knows whether it did.
            if (only_reads(calls[0]) || error.kind() != ErrorKind::unavailable) throw;
            throw Error(ErrorKind::outcome_unknown, error.what());
        }
    }
    limit_idling(true);
    simple(connection_, "START TRANSACTION");
    try {
        run_all(calls, on_row);
        send_commit();
    } catch (...) {
        rollback_quietly("ROLLBACK");
        throw;
    }
}

// A procedure with a transaction of its own ends it, but not when it is cut off.
void Driver::run_separately(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    try {
        run_all(calls, on_row);
    } catch (...) {
        rollback_quietly("ROLLBACK");
        throw;
    }
}

// A unit that fails half-way must leave nothing behind in a transaction whose owner may go on and
// commit.
void Driver::run_joined(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    if (calls.size() <= 1 && std::all_of(calls.begin(), calls.end(), stands_alone))
        return run_all(calls, on_row);
    simple(connection_, "SAVEPOINT postroom_unit");
    try {
        run_all(calls, on_row);
    } catch (...) {
        rollback_quietly("ROLLBACK TO SAVEPOINT postroom_unit");
        throw;
    }
    simple(connection_, "RELEASE SAVEPOINT postroom_unit");
}

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
        run_prepared(with_rows(call.statement->sql, count), bindings, on_row);
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
    cache_.get(connection_, sql)->run(bindings, on_row);
}

std::size_t Driver::packet_max() {
    if (session_.packet_max == 0) session_.packet_max = packet_max_of(connection_);
    return session_.packet_max;
}

void Driver::begin() {
    guarded([&] {
        limit_idling(false);
        simple(connection_, "START TRANSACTION");
    });
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
        simple(connection_, "COMMIT");
    } catch (const Error& error) {
        // Of a statement that was cut off nobody knows the outcome, and a commit that waited for
        // its log to be flushed may have happened whatever ended it.
        if (error.kind() != ErrorKind::unavailable) throw;
        throw Error(ErrorKind::outcome_unknown,
                    fmt::format("connection lost while committing: {}", error.what()));
    }
}

void Driver::commit() {
    guarded([&] { send_commit(); });
}

void Driver::rollback() {
    guarded([&] { simple(connection_, "ROLLBACK"); });
}

// Without autocommit the next statement begins one.
bool Driver::in_transaction() const {
    const unsigned status = connection_->server_status;
    return (status & SERVER_STATUS_IN_TRANS) != 0 || (status & SERVER_STATUS_AUTOCOMMIT) == 0;
}

SqlRows Driver::execute(const SqlStatement& statement) {
    SqlRows rows;
    guarded([&] {
        if (statement.params.empty()) {
            rows = query(connection_, statement.sql);
            return;
        }
        Bindings bindings;
        for (const SqlValue& value : statement.params) bindings.add(value);
        cache_.get(connection_, statement.sql)->run_as_text(bindings, rows);
    });
    return rows;
}

void Driver::execute_script(const std::string& script) {
    guarded([&] {
        for (const std::string& statement : split_script(script)) simple(connection_, statement);
    });
}

// The error that led here is the one to report. After a deadlock there is no savepoint any more.
void Driver::rollback_quietly(const char* sql) noexcept {
    if (is_loss(mysql_errno(connection_))) {
        broken_ = true;
        return;
    }
    if (mysql_query(connection_, sql) != 0 && is_loss(mysql_errno(connection_))) broken_ = true;
}

}  // namespace postroom::mysql
