#include "backends/postgres/driver.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/postgres/errors.hpp"
#include "backends/postgres/pipeline.hpp"

namespace postroom::postgres {

namespace {

constexpr int version_min = 150000;
// Bytes that may wait for the next statement: libpq sends from 8 KiB on.
constexpr std::size_t later_max = 6'000;
constexpr const char* begin_statement = "BEGIN ISOLATION LEVEL READ COMMITTED";

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

// Notices of the server (existing objects, truncated names) are not for the application's standard
// error.
void ignore_notice(void*, const PGresult*) {}

}  // namespace

std::unique_ptr<OwnConnection> OwnConnection::open(const Conninfo& conninfo, bool pooled) {
    const Conninfo::Arrays settings = conninfo.arrays();
    std::unique_ptr<OwnConnection> connection(new OwnConnection(
        PQconnectdbParams(settings.keywords.data(), settings.values.data(), 0), pooled));
    PGconn* const native = connection->native();
    if (native == nullptr) throw std::bad_alloc();
    if (PQstatus(native) != CONNECTION_OK) throw broken_connection(*native, ErrorKind::unavailable);
    if (PQserverVersion(native) < version_min) {
        throw Error(ErrorKind::rejected,
                    fmt::format("the server has version {}; 15 or newer is needed",
                                PQparameterStatus(native, "server_version")));
    }
    PQsetNoticeReceiver(native, ignore_notice, nullptr);
    if (PQsetnonblocking(native, 1) != 0) throw broken_connection(*native, ErrorKind::unavailable);
    return connection;
}

OwnConnection::OwnConnection(PGconn* connection, bool pooled)
    : connection_(connection), pooled_(pooled) {}

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
        pipeline->finish();
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

Result OwnConnection::simple(const char* sql, ErrorKind when_broken) {
    Result result(PQexec(connection_.get(), sql));
    if (PQstatus(connection_.get()) != CONNECTION_OK) broken_ = true;
    check(*connection_, result.get(), when_broken);
    return result;
}

void OwnConnection::begin() { begins_ = true; }

PGconn* OwnConnection::handle() {
    run_waiting();
    if (std::exchange(begins_, false)) simple(begin_statement, ErrorKind::unavailable);
    return native();
}

void OwnConnection::commit() {
    if (std::exchange(begins_, false)) return;
    if (waiting_) {
        const std::unique_ptr<Pipeline> pipeline = std::move(waiting_);
        pipeline->send_commit();
        pipeline->send_sync(false);
        try {
            return pipeline->finish();
        } catch (...) {
            // Nobody took an answer; the commit stands.
            if (!pipeline->committed()) throw;
            return;
        }
    }
    const Result result = [this] {
        try {
            return simple("COMMIT", ErrorKind::outcome_unknown);
        } catch (const Error& error) {
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
