// The driver: sql::Connection over libpq.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "backends/postgres/conninfo.hpp"
#include "backends/postgres/prepared.hpp"
#include "backends/postgres/result.hpp"
#include "postroom/error.hpp"
#include "sql/connection.hpp"

namespace postroom::postgres {

struct CloseConnection {
    void operator()(PGconn* connection) const { PQfinish(connection); }
};

class Pipeline;

// A connection of our own. Statements travel in pipelines: one round trip for a whole unit. BEGIN
// travels with the first statement of its transaction, and what is run later with the statement or
// the COMMIT that follows.
//
// In `pooled` mode nothing outlives a transaction: no prepared statements, no settings.
class OwnConnection final : public sql::Connection {
public:
    // Throws Error{unavailable} when the server cannot be reached, Error{rejected} when it is too
    // old.
    static std::unique_ptr<OwnConnection> open(const Conninfo& conninfo, bool pooled);
    ~OwnConnection() override;

    void run(sql::Bracket bracket, std::span<const sql::Call> calls,
             const sql::OnRow& on_row) override;
    void run_later(std::span<const sql::Call> calls, sql::OnRow on_row) override;
    void begin() override;
    void commit() override;
    void rollback() override;
    bool in_transaction() const override;
    SqlRows execute(const SqlStatement& statement) override;
    void execute_script(const std::string& script) override;
    bool healthy() const override;

    // For whoever uses libpq on it: a transaction that was begun is open on the server, and
    // everything that was to run later has run.
    PGconn* handle();

private:
    OwnConnection(PGconn* connection, bool pooled);

    PGconn* native() const { return connection_.get(); }

    // Sends the calls in one pipeline and reads all answers.
    void exchange(sql::Bracket bracket, std::span<const sql::Call> calls, const sql::OnRow& on_row);

    // The one that waits for the next statement, or a new one.
    std::unique_ptr<Pipeline> take_pipeline();
    // Runs what waits, and reads its answers.
    void run_waiting();

    // Runs one statement without parameters, outside any pipeline.
    Result simple(const char* sql, ErrorKind when_broken);

    friend class Pipeline;

    const std::unique_ptr<PGconn, CloseConnection> connection_;
    const bool pooled_;
    bool broken_ = false;
    bool begins_ = false;  // BEGIN is still to be sent
    PreparedStatements prepared_;
    std::unique_ptr<Pipeline> waiting_;  // what is to run later, if there is any
};

// A connection of the caller, in the caller's transaction. Unnamed statements one by one; nothing
// is left behind.
class BorrowedConnection final : public sql::Connection {
public:
    // `connection` must outlive this object.
    explicit BorrowedConnection(PGconn* connection) : connection_(connection) {}

    void run(sql::Bracket bracket, std::span<const sql::Call> calls,
             const sql::OnRow& on_row) override;
    void begin() override;
    void commit() override;
    void rollback() override;
    bool in_transaction() const override;
    SqlRows execute(const SqlStatement& statement) override;
    void execute_script(const std::string& script) override;
    bool healthy() const override { return PQstatus(connection_) == CONNECTION_OK; }

    PGconn* native() const { return connection_; }

private:
    PGconn* const connection_;
};

}  // namespace postroom::postgres
