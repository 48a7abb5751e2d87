#include "backends/sqlserver/driver.hpp"

#include <sqlext.h>

#include <fmt/format.h>

#include "backends/sqlserver/script.hpp"

namespace postroom::sqlserver {

namespace {

using std::chrono::steady_clock;

// A driver notices only with the next statement that the server went away. A connection that has
// rested so long is asked before it is used.
constexpr auto rest_max = std::chrono::seconds{1};

// Nothing to release: a later one of the same name takes its place, and the transaction's end ends
// it.
constexpr sql::SavepointWords savepoint{.set = "SAVE TRANSACTION postroom_unit",
                                        .undo = "ROLLBACK TRANSACTION postroom_unit",
                                        .release = ""};

[[noreturn]] void misused(const char* what) { throw Error(ErrorKind::misuse, what); }

}  // namespace

Driver::Driver(ConnectionHandle session, Duration answer_within)
    : ServerConnection(savepoint),
      session_(std::move(session)),
      link_(session_.get(), answer_within),
      shared_(false),
      in_transaction_(false) {}

Driver::Driver(SQLHDBC borrowed)
    : ServerConnection(savepoint, BorrowOptions{}),
      link_(borrowed, Duration::zero()),
      shared_(true) {}

SQLHDBC Driver::hand_out() {
    watch_transaction();
    shared_ = true;
    return link_.native();
}

template <class Work>
void Driver::on_link(const Work& work) const {
    try {
        work();
        used_at_ = steady_clock::now();
    } catch (const LinkError& error) {
        lost_ = lost_ || error.lost() || link_.dead();
        in_transaction_.reset();  // some errors end it
        throw;
    }
}

// After a lost connection, and after an outcome that nobody knows, a connection of ours is not used
// again.
void Driver::failed(const Error& error) {
    if (lost_ || error.kind() == ErrorKind::outcome_unknown ||
        (!borrowed() && error.kind() == ErrorKind::unavailable))
        give_up();
}

void Driver::require_usable(sql::Bracket bracket) const {
    if (!borrowed()) return;
    if (!in_transaction())
        misused("the borrowed connection has no open transaction; begin one first");
    if (bracket != sql::Bracket::joined) misused("a borrowed connection can only be joined");
}

void Driver::run_all(std::span<const sql::Call> calls, const sql::OnRow& on_row) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
        Parameters parameters;
        for (const std::string& name : calls[i].statement->names)
            parameters.add(calls[i].params->at(name));
        on_link([&] {
            link_.run(calls[i].statement->sql, parameters, [&](const ResultRow& row) {
                if (on_row) on_row(i, row);
            });
        });
    }
}

void Driver::send(const char* statement) {
    if (*statement == '\0') return;
    on_link([&] { link_.run(statement); });
    if (std::string_view(statement) == "ROLLBACK") in_transaction_ = false;
}

void Driver::send_begin(std::span<const sql::Call> /*calls*/) {
    send("BEGIN TRANSACTION");
    in_transaction_ = true;
}

void Driver::send_commit() {
    try {
        send("COMMIT");
        in_transaction_ = false;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::unavailable) throw;
        throw Error(ErrorKind::outcome_unknown,
                    fmt::format("connection lost while committing: {}", error.what()));
    }
}

// A lock of the transaction's own, since a savepoint cannot be asked for without being undone.
void Driver::set_mark() {
    send(
        "DECLARE @mark NVARCHAR(60) = CONCAT(N'postroom transaction ', @@SPID); "
        "EXEC sp_getapplock @Resource = @mark, @LockMode = 'Exclusive', "
        "@LockOwner = 'Transaction', @LockTimeout = 0");
}

bool Driver::mark_stands() {
    Parameters none;
    bool stands = false;
    on_link([&] {
        link_.run(
            "SELECT APPLOCK_MODE('public', CONCAT(N'postroom transaction ', @@SPID), "
            "'Transaction')",
            none, [&](const ResultRow& row) { stands = row.text(0) == "Exclusive"; });
    });
    return stands;
}

// The server ends a transaction by itself after some errors, and a user may end it; with autocommit
// off, the next statement begins one.
bool Driver::in_transaction() const {
    if (lost_) return false;
    if (!shared_ && in_transaction_) return *in_transaction_;
    if (borrowed()) {
        SQLULEN autocommit = SQL_AUTOCOMMIT_ON;
        SQLGetConnectAttr(link_.native(), SQL_ATTR_AUTOCOMMIT, &autocommit, sizeof autocommit,
                          nullptr);
        if (autocommit == SQL_AUTOCOMMIT_OFF) return true;
    }
    try {
        Parameters none;
        on_link([&] {
            link_.run("SELECT @@TRANCOUNT", none,
                      [&](const ResultRow& row) { in_transaction_ = row.integer(0) > 0; });
        });
    } catch (const Error&) {
        return false;
    }
    return in_transaction_.value_or(false);
}

// No statement ends a transaction and begins the next; the server is asked whether one is open.
bool Driver::ends_transaction(std::string_view /*sql*/) const { return false; }

SqlRows Driver::execute(const SqlStatement& statement) {
    SqlRows rows;
    guarded([&] {
        Parameters parameters;
        for (const SqlValue& value : statement.params) parameters.add(value);
        on_link([&] {
            link_.run(
                statement.sql, parameters,
                [&](const ResultRow& row) {
                    rows.push_back(sql::cells_of_row(row, row.columns()));
                },
                true);
        });
        in_transaction_.reset();  // it may have been a COMMIT
    });
    return rows;
}

void Driver::execute_script(const std::string& script) {
    guarded([&] {
        for (const std::string& batch : split_script(script)) on_link([&] { link_.run(batch); });
    });
}

bool Driver::healthy() const {
    if (!ServerConnection::healthy() || lost_) return false;
    if (borrowed() || steady_clock::now() - used_at_ < rest_max) return true;
    try {
        on_link([&] { link_.run("SELECT 1"); });
    } catch (const Error&) {
        return false;
    }
    return true;
}

// After a deadlock there is no savepoint any more, and no transaction to roll back.
void Driver::rollback_quietly(const char* statement) noexcept {
    if (lost_) return give_up();
    try {
        send(statement);
    } catch (...) {  // NOLINT(bugprone-empty-catch): the error that led here is the one to report
    }
    in_transaction_.reset();
    if (lost_) give_up();
}

}  // namespace postroom::sqlserver
