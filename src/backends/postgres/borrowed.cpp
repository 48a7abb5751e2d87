// The caller's connection: we run statements in the caller's transaction and nothing else.
#include "backends/postgres/driver.hpp"

#include <libpq-events.h>

#include <cstring>

#include "backends/postgres/encoding.hpp"
#include "backends/postgres/errors.hpp"

namespace postroom::postgres {

namespace {

[[noreturn]] void refuse(const char* what) { throw Error(ErrorKind::misuse, what); }

// A caller may be in the middle of something that a statement of ours would break.
void require_usable(const PGconn* connection) {
    if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF)
        refuse("the borrowed connection is in pipeline mode");
    // Our texts are UTF-8, and the server would take them for something else.
    const char* const encoding = PQparameterStatus(connection, "client_encoding");
    if (encoding != nullptr && std::strcmp(encoding, "UTF8") != 0 &&
        std::strcmp(encoding, "SQL_ASCII") != 0)
        refuse("the borrowed connection has a client_encoding other than UTF8");
    switch (PQtransactionStatus(connection)) {
        case PQTRANS_INTRANS:
            return;
        case PQTRANS_INERROR:
            refuse("the transaction of the borrowed connection has failed; roll it back first");
        case PQTRANS_ACTIVE:
            refuse("the borrowed connection is busy with another statement");
        case PQTRANS_IDLE:
            refuse("the borrowed connection has no open transaction; begin one first");
        case PQTRANS_UNKNOWN:
            break;
    }
    throw broken_connection(*connection, ErrorKind::unavailable);
}

Result checked(PGconn* connection, PGresult* answer) {
    Result result(answer);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
    if (sqlstate_of(result.get()).empty())
        throw broken_connection(*connection, ErrorKind::unavailable);
    throw server_error(*result);
}

Result run_unnamed(PGconn* connection, const std::string& sql, const ParamList& params,
                   int format) {
    require_usable(connection);
    return checked(connection,
                   PQexecParams(connection, sql.c_str(), params.count(), nullptr, params.values(),
                                params.lengths(), params.formats(), format));
}

// libpq keeps what we know of a connection's statements with the connection, so that they serve
// whoever borrows it next.
int on_connection_event(PGEventId event, void* info, void*) {
    if (event == PGEVT_CONNRESET) {
        *static_cast<PreparedStatements*>(
            PQinstanceData(static_cast<PGEventConnReset*>(info)->conn, on_connection_event)) = {};
    } else if (event == PGEVT_CONNDESTROY) {
        delete static_cast<PreparedStatements*>(
            PQinstanceData(static_cast<PGEventConnDestroy*>(info)->conn, on_connection_event));
    }
    return 1;
}

PreparedStatements& statements_of(PGconn* connection) {
    if (void* const known = PQinstanceData(connection, on_connection_event); known != nullptr)
        return *static_cast<PreparedStatements*>(known);
    auto statements = std::make_unique<PreparedStatements>();
    if (PQregisterEventProc(connection, on_connection_event, "postroom", nullptr) == 0)
        throw std::bad_alloc();
    PQsetInstanceData(connection, on_connection_event, statements.get());
    return *statements.release();
}

// The server knows the name no more, or the tables have changed under its plan.
bool is_stale(const PGresult* result) {
    const std::string_view state = sqlstate_of(result);
    return state == "26000" || state == "0A000";
}

Result run_named(PGconn* connection, const std::string& sql, const ParamList& params) {
    require_usable(connection);
    PreparedStatements& statements = statements_of(connection);
    const std::string* name = statements.find(sql);
    if (name == nullptr) {
        name = statements.add(sql);
        if (name == nullptr) return run_unnamed(connection, sql, params, binary_results);
        try {
            checked(connection, PQprepare(connection, name->c_str(), sql.c_str(), 0, nullptr));
        } catch (...) {
            statements.forget(sql);
            throw;
        }
    }
    PGresult* const answer =
        PQexecPrepared(connection, name->c_str(), params.count(), params.values(), params.lengths(),
                       params.formats(), binary_results);
    if (is_stale(answer)) statements.forget(sql);
    return checked(connection, answer);
}

}  // namespace

void BorrowedConnection::run(sql::Bracket bracket, std::span<const sql::Call> calls,
                             const sql::OnRow& on_row) {
    if (bracket != sql::Bracket::joined) refuse("a borrowed connection can only be joined");
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const Result result = run_call(calls[i]);
        for (int row = 0; row < PQntuples(result.get()); ++row) on_row(i, ResultRow(*result, row));
    }
}

Result BorrowedConnection::run_call(const sql::Call& call) {
    const std::string& sql = call.statement->sql;
    return options_.prepare ? run_named(connection_, sql, ParamList(call))
                            : run_unnamed(connection_, sql, ParamList(call), binary_results);
}

void BorrowedConnection::begin() { refuse("begin: the transaction belongs to the caller"); }
void BorrowedConnection::commit() { refuse("commit: the transaction belongs to the caller"); }
void BorrowedConnection::rollback() { refuse("rollback: the transaction belongs to the caller"); }

bool BorrowedConnection::in_transaction() const {
    const PGTransactionStatusType status = PQtransactionStatus(connection_);
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
}

SqlRows BorrowedConnection::execute(const SqlStatement& statement) {
    return text_rows(
        *run_unnamed(connection_, statement.sql, ParamList(statement.params), text_results));
}

void BorrowedConnection::execute_script(const std::string&) {
    refuse("a script cannot run on a borrowed connection");
}

}  // namespace postroom::postgres
