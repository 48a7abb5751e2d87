#include "backends/postgres/driver.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/postgres/errors.hpp"
#include "backends/postgres/patience.hpp"
#include "backends/postgres/pipeline.hpp"
#include "sql/transactions.hpp"

namespace postroom::postgres {

namespace {

constexpr int version_min = 150000;
// Bytes that may wait for the next statement: libpq sends from 8 KiB on.
constexpr std::size_t later_max = 6'000;
constexpr const char* begin_statement = "BEGIN ISOLATION LEVEL READ COMMITTED";
constexpr const char* began_query = "SELECT extract(epoch FROM pg_catalog.now())::text";

// COMMIT, which is not reached in a transaction that began at another time.
std::string commit_of(const std::string& began) {
    return fmt::format(
        "SELECT 1 / (extract(epoch FROM pg_catalog.now())::text = '{}')::integer; COMMIT", began);
}

bool succeeded(const PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

// Throws what went wrong, if anything did.
void check(const PGconn& connection, const PGresult* result, ErrorKind when_broken) {
    if (succeeded(result)) return;
    if (sqlstate_of(result).empty()) throw broken_connection(connection, when_broken);
    throw server_error(*result);
}

}  // namespace

// Notices of the server (existing objects, truncated names) are not for the application's standard
// error. One of them matters: a wait for a synchronous standby was cancelled. Its text may be in
// any language, so it is known by where it comes from.
void OwnConnection::take_notice(void* connection, const PGresult* notice) {
    const char* const origin = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    if (origin != nullptr && std::strcmp(origin, "SyncRepWaitForLSN") == 0)
        static_cast<OwnConnection*>(connection)->unreplicated_ = true;
}

// PostgreSQL confirms such a commit, although the next fail-over may undo it.
void OwnConnection::require_replicated() {
    if (!std::exchange(unreplicated_, false)) return;
    broken_ = true;
    throw Error(ErrorKind::outcome_unknown,
                "the commit stands on this server, but the wait for a synchronous standby was "
                "cancelled: a fail-over may undo it");
}

std::unique_ptr<OwnConnection> OwnConnection::open(const Conninfo& conninfo, bool pooled,
                                                   Duration patience) {
    std::unique_ptr<OwnConnection> connection(new OwnConnection(conninfo, pooled, patience));
    PGconn* const native = connection->native();
    if (native == nullptr) throw std::bad_alloc();
    if (PQstatus(native) != CONNECTION_OK) throw broken_connection(*native, ErrorKind::unavailable);
    if (PQserverVersion(native) < version_min) {
        throw Error(ErrorKind::rejected,
                    fmt::format("the server has version {}; 15 or newer is needed",
                                PQparameterStatus(native, "server_version")));
    }
    PQsetNoticeReceiver(native, take_notice, connection.get());
    if (PQsetnonblocking(native, 1) != 0) throw broken_connection(*native, ErrorKind::unavailable);
    return connection;
}

OwnConnection::OwnConnection(const Conninfo& conninfo, bool pooled, Duration patience)
    : conninfo_(conninfo),
      connection_([this] {
          const Conninfo::Arrays settings = conninfo_.arrays();
          return PQconnectdbParams(settings.keywords.data(), settings.values.data(), 0);
      }()),
      pooled_(pooled),
      patience_(patience) {}

OwnConnection::~OwnConnection() = default;

std::unique_ptr<Pipeline> OwnConnection::take_pipeline() {
    if (waiting_) return std::move(waiting_);
    return std::make_unique<Pipeline>(*this);
}

void OwnConnection::run(sql::Bracket bracket, std::span<const sql::Call> calls,
                        const sql::OnRow& on_row) {
    // A pooler that shares by the transaction takes the server back at the first sync that is
    // answered and drops the answers to those behind it, so each has to be an exchange of its own.
    if (bracket != sql::Bracket::separate || !pooled_) return exchange(bracket, calls, on_row);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        exchange(bracket, calls.subspan(i, 1),
                 [&](std::size_t, const sql::Row& row) { on_row(i, row); });
    }
}

void OwnConnection::exchange(sql::Bracket bracket, std::span<const sql::Call> calls,
                             const sql::OnRow& on_row) {
    const bool own = bracket == sql::Bracket::transaction;
    const bool explicit_transaction = own && calls.size() > 1;
    try {
        const std::unique_ptr<Pipeline> pipeline = take_pipeline();
        if (explicit_transaction || std::exchange(begins_, false))
            pipeline->send_command(begin_statement);
        for (std::size_t i = 0; i < calls.size(); ++i) {
            pipeline->send(i, calls[i], on_row);
            if (bracket == sql::Bracket::separate) pipeline->send_sync(true);
        }
        if (explicit_transaction) pipeline->send_commit();
        if (bracket != sql::Bracket::separate) pipeline->send_sync(own);
        unreplicated_ = false;
        pipeline->finish();
        require_replicated();
    } catch (...) {
        if (explicit_transaction && !broken_ && in_transaction()) rollback();
        throw;
    }
}

void OwnConnection::run_later(std::span<const sql::Call> calls, sql::OnRow on_row) {
    std::unique_ptr<Pipeline> pipeline = take_pipeline();
    if (std::exchange(begins_, false)) pipeline->send_command(begin_statement);
    const sql::OnRow& kept = pipeline->keep(std::move(on_row));
    for (std::size_t i = 0; i < calls.size(); ++i) pipeline->send(i, calls[i], kept);
    waiting_ = std::move(pipeline);
    // What is on its way without an end keeps the server busy, and its time-outs from ending it.
    if (waiting_->size() > later_max) run_waiting();
}

void OwnConnection::run_waiting() {
    if (!waiting_) return;
    const std::unique_ptr<Pipeline> pipeline = std::move(waiting_);
    pipeline->send_sync(false);
    pipeline->finish();
}

// As PQexec(), which would wait for ever: the last result, or the one that failed.
Result OwnConnection::simple(const char* sql, ErrorKind when_broken) {
    Result last;
    unreplicated_ = false;
    const bool sent = PQsendQuery(native(), sql) == 1;
    while (sent) {
        if (const auto waited = await_answer(*native(), conninfo_, patience_)) {
            broken_ = true;
            throw no_answer(when_broken, *waited);
        }
        Result result(PQgetResult(native()));
        if (result == nullptr) break;
        last = std::move(result);
    }
    if (PQstatus(native()) != CONNECTION_OK) broken_ = true;
    check(*connection_, last.get(), when_broken);
    require_replicated();
    return last;
}

void OwnConnection::begin() {
    begins_ = true;
    began_.clear();
}

void OwnConnection::note_transaction() {
    if (!began_.empty() || PQtransactionStatus(native()) != PQTRANS_INTRANS) return;
    const Result result = simple(began_query, ErrorKind::unavailable);
    began_ = PQgetvalue(result.get(), 0, 0);
}

PGconn* OwnConnection::handle() {
    run_waiting();
    if (std::exchange(begins_, false)) simple(begin_statement, ErrorKind::unavailable);
    note_transaction();
    return native();
}

void OwnConnection::commit() {
    if (std::exchange(begins_, false)) return;
    if (!began_.empty()) run_waiting();
    if (waiting_) {
        const std::unique_ptr<Pipeline> pipeline = std::move(waiting_);
        pipeline->send_commit();
        pipeline->send_sync(false);
        unreplicated_ = false;
        try {
            pipeline->finish();
        } catch (...) {
            // Nobody took an answer; the commit stands.
            if (!pipeline->committed()) throw;
        }
        return require_replicated();
    }
    const std::string began = std::exchange(began_, {});
    const bool checked = !began.empty() && PQtransactionStatus(native()) == PQTRANS_INTRANS;
    const Result result = [&] {
        try {
            return simple(checked ? commit_of(began).c_str() : "COMMIT",
                          ErrorKind::outcome_unknown);
        } catch (const Error& error) {
            if (checked && PQtransactionStatus(native()) == PQTRANS_INERROR)
                throw sql::ended_before();
            // A pooler reports a server that it lost in words of its own: nobody knows what became
            // of the commit.
            if (error.kind() != ErrorKind::unavailable) throw;
            throw Error(ErrorKind::outcome_unknown, error.what());
        }
    }();
    if (std::strcmp(PQcmdStatus(result.get()), "COMMIT") != 0) {
        throw Error(ErrorKind::rejected, "the transaction had failed and was rolled back");
    }
}

void OwnConnection::rollback() {
    try {
        run_waiting();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): all of it is undone
    }
    if (!std::exchange(begins_, false)) simple("ROLLBACK", ErrorKind::unavailable);
}

bool OwnConnection::in_transaction() const {
    if (begins_ || waiting_) return true;
    const PGTransactionStatusType status = PQtransactionStatus(connection_.get());
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
}

SqlRows OwnConnection::execute(const SqlStatement& statement) {
    // What it refuses is refused before anything is sent.
    const ParamList params(statement.params);
    const std::unique_ptr<Pipeline> pipeline = take_pipeline();
    if (std::exchange(begins_, false)) pipeline->send_command(begin_statement);
    pipeline->send(statement.sql, params);
    pipeline->send_sync(false);
    pipeline->finish();
    return pipeline->take_rows();
}

void OwnConnection::execute_script(const std::string& script) {
    handle();
    simple(script.c_str(), in_transaction() ? ErrorKind::unavailable : ErrorKind::outcome_unknown);
}

bool OwnConnection::healthy() const {
    PGconn* const connection = connection_.get();
    // What a server says while nobody asks is usually goodbye: taken in, then looked for the end of
    // the stream.
    for (int round = 0; round < 2; ++round) {
        if (broken_ || PQstatus(connection) != CONNECTION_OK) return false;
        char byte = 0;
        const ssize_t got = ::recv(PQsocket(connection), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        if (PQconsumeInput(connection) != 1) return false;
    }
    return PQstatus(connection) == CONNECTION_OK;
}

}  // namespace postroom::postgres
