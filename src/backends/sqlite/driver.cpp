#include "backends/sqlite/driver.hpp"

#include <algorithm>

#include <sqlite3.h>

#include "backends/sqlite/errors.hpp"
#include "backends/sqlite/row_block.hpp"

namespace postroom::sqlite {

namespace {

// More than the store has statements.
constexpr std::size_t cached_statements_max = 256;

// `changed` tells of each call before the one at `at` whether it changed a row.
bool superfluous(const sql::Skip& skip, const std::vector<bool>& changed, std::size_t at) {
    if (skip.back.empty()) return false;
    const bool any = std::any_of(skip.back.begin(), skip.back.end(),
                                 [&](std::size_t back) { return changed[at - back]; });
    return any == skip.if_changed;
}

}  // namespace

Driver::Driver(const std::string& path, Duration timeout)
    : borrowed_(false),
      busy_(timeout),
      file_(open_file(path, busy_)),
      connection_(file_.get()),
      cache_(connection_, cached_statements_max) {}

Driver::Driver(sqlite3* borrowed)
    : borrowed_(true),
      busy_(Duration::zero()),
      connection_(borrowed),
      cache_(connection_, cached_statements_max) {}

// Around everything that runs: a borrowed connection keeps no statement of ours, and one that
// failed for reasons outside the database is not used again.
template <class Work>
void Driver::guarded(const Work& work) {
    try {
        work();
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::unavailable || error.kind() == ErrorKind::outcome_unknown)
            broken_ = true;
        if (borrowed_) forget_statements();
        throw;
    } catch (...) {
        if (borrowed_) forget_statements();
        throw;
    }
    if (borrowed_) forget_statements();
}

void Driver::forget_statements() {
    cache_.clear();
    block_.reset();
}

void Driver::run(sql::Bracket bracket, std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    guarded([&] {
        switch (bracket) {
            case sql::Bracket::transaction:
                return run_in_transaction(calls, on_row);
            case sql::Bracket::separate:
                return run_separate(calls, on_row);
            case sql::Bracket::joined:
                return run_joined(calls, on_row);
        }
    });
}

// Units of a batch are mostly the same, one after the other: a statement is looked up once for all
// of them, and one that is always skipped never.
void Driver::run_all(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    std::vector<std::shared_ptr<Prepared>> statements(calls.size());
    std::vector<bool> changed(calls.size());
    RunClock clock;
    std::size_t period = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const sql::Statement& statement = *calls[i].statement;
        if (i > 0 && &statement == calls[0].statement) period = i;
        if (superfluous(statement.skip, changed, i)) continue;
        if (begins_block(calls.subspan(i))) {
            run_block(calls, i, on_row);
            i += 2 * block_rows - 1;
            continue;
        }
        const std::size_t before = i - period;
        if (period > 0 && calls[before].statement == &statement) statements[i] = statements[before];
        if (statements[i] == nullptr) statements[i] = cache_.get(statement.sql);
        statements[i]->run(statement, *calls[i].params, clock, i, on_row);
        changed[i] = sqlite3_changes(connection_) > 0;
    }
}

void Driver::run_block(std::span<const sql::Call> calls, std::size_t first,
                       const sql::OnRow& on_row) {
    const sql::Statement& one = *calls[first].statement;
    if (block_ == nullptr || block_of_ != one.sql) {
        block_ =
            std::make_shared<Prepared>(connection_, block_text(one.sql, one.names.size()), true);
        block_of_ = one.sql;
    }
    block_->run_block(one, calls.subspan(first, 2 * block_rows));
    if (!on_row) return;
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

void Driver::run_in_transaction(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    const bool reading = all_read_only(calls);
    // One read is consistent by itself. Several see one state in a transaction that keeps no writer
    // away.
    if (reading && calls.size() <= 1) return run_all(calls, on_row);
    simple(reading ? "BEGIN" : "BEGIN IMMEDIATE");
    try {
        run_all(calls, on_row);
        commit();
    } catch (...) {
        rollback_quietly("ROLLBACK");
        throw;
    }
}

void Driver::run_separate(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
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
    if (!in_transaction()) {
        throw Error(ErrorKind::misuse, "there is no open transaction to join");
    }
    // A single statement undoes itself.
    if (calls.size() <= 1) return run_all(calls, on_row);
    simple("SAVEPOINT postroom_unit");
    try {
        run_all(calls, on_row);
    } catch (...) {
        rollback_quietly("ROLLBACK TO postroom_unit");
        rollback_quietly("RELEASE postroom_unit");
        throw;
    }
    simple("RELEASE postroom_unit");
}

void Driver::run_open(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    guarded([&] { run_all(calls, on_row); });
}

void Driver::begin() {
    guarded([&] { simple("BEGIN IMMEDIATE"); });
}

void Driver::commit() {
    guarded([&] {
        try {
            simple("COMMIT");
        } catch (const Error& error) {
            const int code = sqlite3_errcode(connection_) & 0xff;
            if (code != SQLITE_IOERR) throw;
            // The pages were handed to the system and the flush failed: a later recovery may find
            // them or not.
            throw Error(ErrorKind::outcome_unknown, error.what());
        }
    });
}

void Driver::rollback() {
    // Some errors end the transaction by themselves.
    if (!in_transaction()) return;
    guarded([&] { simple("ROLLBACK"); });
}

bool Driver::in_transaction() const { return sqlite3_get_autocommit(connection_) == 0; }

SqlRows Driver::execute(const SqlStatement& statement) {
    SqlRows rows;
    guarded([&] {
        Prepared prepared(connection_, statement.sql, false);
        const int columns = prepared.column_count();
        prepared.run(statement.params, [&](const sql::Row& row) {
            auto& cells = rows.emplace_back();
            for (int i = 0; i < columns; ++i) {
                cells.push_back(row.null(i) ? std::nullopt
                                            : std::optional<std::string>(row.blob(i)));
            }
        });
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

void Driver::simple(const char* sql) { cache_.get(sql)->run(); }

// The error that led here is the one to report; a connection that cannot even roll back is given
// up.
void Driver::rollback_quietly(const char* sql) noexcept {
    if (!in_transaction()) return;
    try {
        simple(sql);
    } catch (...) {
        broken_ = true;
    }
}

}  // namespace postroom::sqlite
