// The driver: sql::Connection over libpq.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "backends/postgres/conninfo.hpp"
#include "backends/postgres/prepared.hpp"
#include "backends/postgres/result.hpp"
#include "postroom/error.hpp"
#include "postroom/transaction.hpp"
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
    // `patience`: how long the answer to a statement of ours is waited for.
    static std::unique_ptr<OwnConnection> open(const Conninfo& conninfo, bool pooled,
                                               Duration patience);
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
    // everything that was to run later has run. From then on the commit makes sure that it is still
    // the same: nobody tells us of a ROLLBACK AND CHAIN there.
    PGconn* handle();

private:
    OwnConnection(const Conninfo& conninfo, bool pooled, Duration patience);

    PGconn* native() const { return connection_.get(); }

    static void take_notice(void* connection, const PGresult* notice);
    // Throws Error{outcome_unknown} when a commit has not waited for its standby.
    void require_replicated();

    // Sends the calls in one pipeline and reads all answers.
    void exchange(sql::Bracket bracket, std::span<const sql::Call> calls, const sql::OnRow& on_row);

    // The one that waits for the next statement, or a new one.
    std::unique_ptr<Pipeline> take_pipeline();
    // Runs what waits, and reads its answers.
    void run_waiting();

    // Remembers which transaction is open.
    void note_transaction();

    // Runs one statement without parameters, outside any pipeline.
    Result simple(const char* sql, ErrorKind when_broken);

    friend class Pipeline;

    const Conninfo conninfo_;
    const std::unique_ptr<PGconn, CloseConnection> connection_;
    const bool pooled_;
    const Duration patience_;
    bool broken_ = false;
    bool unreplicated_ = false;  // the commit just confirmed is on no standby, as far as we know
    bool begins_ = false;        // BEGIN is still to be sent
    // When the open transaction began, which tells it from every other of this connection,
    // whatever savepoints and settings there are; empty: nobody asked.
    std::string began_;
    PreparedStatements prepared_;
    std::unique_ptr<Pipeline> waiting_;  // what is to run later, if there is any
};

// A connection of the caller, in the caller's transaction, one statement at a time. Without
// BorrowOptions::prepare nothing is left behind.
class BorrowedConnection final : public sql::Connection {
public:
    // `connection` must outlive this object.
    explicit BorrowedConnection(PGconn* connection, BorrowOptions options = {})
        : connection_(connection), options_(options) {}

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
    Result run_call(const sql::Call& call);

    PGconn* const connection_;
    const BorrowOptions options_;
};

}  // namespace postroom::postgres
