#include "backends/sqlite/driver.hpp"

#include <algorithm>
#include <array>

#include <sqlite3.h>

#include "backends/sqlite/errors.hpp"
#include "backends/sqlite/row_block.hpp"

namespace postroom::sqlite {

namespace {

// More than the store has statements.
constexpr std::size_t cached_statements_max = 256;

// `changed` tells of each call before the one at `at` how many rows it has changed.
bool superfluous(const sql::Call& call, const std::vector<std::int64_t>& changed, std::size_t at) {
    const sql::Skip& skip = call.statement->skip;
    std::int64_t rows = 0;
    for (const std::size_t back : skip.back) rows += changed[at - back];
    if (!skip.ceiling.empty()) return rows >= std::get<std::int64_t>(call.params->at(skip.ceiling));
    return !skip.back.empty() && (rows > 0) == skip.if_changed;
}

// Of one connection.
sql::StatementCache<Prepared> cache_for(sqlite3* connection) {
    return {cached_statements_max, [connection](const std::string& sql) {
                return std::make_shared<Prepared>(connection, sql, true);
            }};
}

}  // namespace

Driver::Driver(const std::string& path, Duration timeout)
    : BracketedConnection(sql::standard_savepoint),
      busy_(timeout),
      file_(open_file(path, busy_)),
      connection_(file_.get()),
      cache_(cache_for(connection_)) {}

Driver::Driver(sqlite3* borrowed, BorrowOptions options)
    : BracketedConnection(sql::standard_savepoint, options),
      busy_(Duration::zero()),
      connection_(borrowed),
      cache_(cache_for(connection_)) {}

// One that failed for reasons outside the database is not used again.
void Driver::failed(const Error& error) {
    if (error.kind() == ErrorKind::unavailable || error.kind() == ErrorKind::outcome_unknown)
        give_up();
}

void Driver::forget_statements() {
    cache_.clear();
    block_.reset();
}

void Driver::require_usable(sql::Bracket bracket) const {
    if (bracket == sql::Bracket::joined && !in_transaction())
        throw Error(ErrorKind::misuse, "there is no open transaction to join");
}

// Units of a batch are mostly the same, one after the other: a statement is looked up once for all
// of them, and one that is always skipped never.
void Driver::run_all(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    std::vector<std::shared_ptr<Prepared>> statements(calls.size());
    std::vector<std::int64_t> changed(calls.size());
    RunClock clock(connection_);
    std::size_t period = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const sql::Statement& statement = *calls[i].statement;
        if (i > 0 && &statement == calls[0].statement) period = i;
        if (superfluous(calls[i], changed, i)) continue;
        if (begins_block(calls.subspan(i))) {
            run_block(calls, i, on_row);
            i += 2 * block_rows - 1;
            continue;
        }
        const std::size_t before = i - period;
        if (period > 0 && calls[before].statement == &statement) statements[i] = statements[before];
        if (statements[i] == nullptr) statements[i] = cache_.get(statement.sql);
        statements[i]->run(statement, *calls[i].params, clock, i, on_row);
        changed[i] = sqlite3_changes(connection_);
    }
}

void Driver::run_block(std::span<const sql::Call> calls, std::size_t first,
                       const sql::OnRow& on_row) {
    const sql::Statement& one = *calls[first].statement;
    if (block_ == nullptr || block_of_ != one.sql) {
        block_ = std::make_shared<Prepared>(connection_, block_text(one), true);
        block_of_ = one.sql;
    }
    block_->run_block(one, calls.subspan(first, 2 * block_rows));
    // A trigger may have dropped some, and nobody knows which.
    if (!on_row || sqlite3_changes(connection_) < static_cast<int>(block_rows)) return;
    const std::int64_t last = sqlite3_last_insert_rowid(connection_);
    for (std::size_t i = 0; i < block_rows; ++i) {
        const std::int64_t number = last - static_cast<std::int64_t>(block_rows - 1 - i);
        on_row(first + 2 * i + 1, NumberRow(number));
    }
}

bool Driver::all_read_only(std::span<const sql::Call> calls) {
    return std::all_of(calls.begin(), calls.end(), [this](const sql::Call& call) {
        return cache_.get(call.statement->sql)->read_only();
    });
}

// One read is consistent by itself.
bool Driver::needs_transaction(std::span<const sql::Call> calls) {
    return calls.size() > 1 || !all_read_only(calls);
}

// A single statement undoes itself.
bool Driver::needs_savepoint(std::span<const sql::Call> calls) { return calls.size() > 1; }

// Several reads see one state in a transaction that keeps no writer away.
void Driver::send_begin(std::span<const sql::Call> calls) {
    send(!calls.empty() && all_read_only(calls) ? "BEGIN" : "BEGIN IMMEDIATE");
}

void Driver::send_commit() {
    try {
        send("COMMIT");
    } catch (const Error& error) {
        const int code = sqlite3_errcode(connection_) & 0xff;
        if (code != SQLITE_IOERR) throw;
        // The pages were handed to the system and the flush failed: a later recovery may find them
        // or not.
        throw Error(ErrorKind::outcome_unknown, error.what());
    }
}

// Only a connection of our own is marked, and its hooks belong to nobody else.
void Driver::set_mark() {
    sqlite3_commit_hook(
        connection_,
        [](void* ended) {
            *static_cast<bool*>(ended) = true;
            return 0;  // the commit takes place
        },
        &ended_);
    sqlite3_rollback_hook(
        connection_, [](void* ended) { *static_cast<bool*>(ended) = true; }, &ended_);
    ended_ = false;
}

// Some errors end the transaction by themselves.
void Driver::rollback() {
    if (in_transaction()) BracketedConnection::rollback();
}

bool Driver::user_met_failure() const {
    constexpr std::array undo{SQLITE_FULL, SQLITE_IOERR,     SQLITE_NOMEM,
                              SQLITE_BUSY, SQLITE_INTERRUPT, SQLITE_CORRUPT};
    const int code = sqlite3_errcode(connection_) & 0xff;
    return std::find(undo.begin(), undo.end(), code) != undo.end();
}

bool Driver::in_transaction() const { return sqlite3_get_autocommit(connection_) == 0; }

SqlRows Driver::execute(const SqlStatement& statement) {
    SqlRows rows;
    guarded([&] {
        Prepared prepared(connection_, statement.sql, false);
        const int columns = prepared.column_count();
        prepared.run(statement.params,
                     [&](const sql::Row& row) { rows.push_back(sql::cells_of_row(row, columns)); });
    });
    return rows;
}

void Driver::execute_script(const std::string& script) {
    guarded([&] {
        if (sqlite3_exec(connection_, script.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
            throw error_of(connection_, "execute");
        }
    });
}

// A connection that cannot even roll back is given up.
void Driver::rollback_quietly(const char* statement) noexcept {
    if (!in_transaction()) return;
    try {
        send(statement);
    } catch (...) {
        give_up();
    }
}

}  // namespace postroom::sqlite
