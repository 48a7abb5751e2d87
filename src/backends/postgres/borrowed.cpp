// The caller's connection: we run statements in the caller's transaction and nothing else.
#include "backends/postgres/driver.hpp"

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

Result run_one(PGconn* connection, const std::string& sql, const ParamList& params, int format) {
    require_usable(connection);
    Result result(PQexecParams(connection, sql.c_str(), params.count(), nullptr, params.values(),
                               params.lengths(), params.formats(), format));
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
    if (sqlstate_of(result.get()).empty())
        throw broken_connection(*connection, ErrorKind::unavailable);
    throw server_error(*result);
}

}  // namespace

void BorrowedConnection::run(sql::Bracket bracket, std::span<const sql::Call> calls,
                             const sql::OnRow& on_row) {
    if (bracket != sql::Bracket::joined) refuse("a borrowed connection can only be joined");
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const Result result =
            run_one(connection_, calls[i].statement->sql, ParamList(calls[i]), binary_results);
        for (int row = 0; row < PQntuples(result.get()); ++row) on_row(i, ResultRow(*result, row));
    }
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
        *run_one(connection_, statement.sql, ParamList(statement.params), text_results));
}

void BorrowedConnection::execute_script(const std::string&) {
    refuse("a script cannot run on a borrowed connection");
}

}  // namespace postroom::postgres
