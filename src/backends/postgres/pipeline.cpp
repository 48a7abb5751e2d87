#include "backends/postgres/pipeline.hpp"

#include <poll.h>

#include <cstring>

#include "backends/postgres/encoding.hpp"
#include "backends/postgres/errors.hpp"

namespace postroom::postgres {

namespace {

constexpr std::size_t prepared_max = 200;  // further statements are parsed each time

}  // namespace

Pipeline::Pipeline(OwnConnection& owner, const sql::OnRow& on_row)
    : owner_(owner), connection_(owner.native()), on_row_(on_row) {
    if (PQenterPipelineMode(connection_) != 1) {
        owner_.broken_ = true;
        throw broken_connection(*connection_, ErrorKind::unavailable);
    }
}

Pipeline::~Pipeline() {
    // Refused when answers are still to come: then the connection is not to be used again.
    if (PQexitPipelineMode(connection_) != 1) owner_.broken_ = true;
}

void Pipeline::send_command(const char* sql) {
    require(
        PQsendQueryParams(connection_, sql, 0, nullptr, nullptr, nullptr, nullptr, binary_results));
    steps_.push_back({.kind = Kind::command, .call = 0, .sql = {}});
}

void Pipeline::send_commit() {
    require(PQsendQueryParams(connection_, "COMMIT", 0, nullptr, nullptr, nullptr, nullptr,
                              binary_results));
    steps_.push_back({.kind = Kind::commit, .call = 0, .sql = {}});
    commit_sent_ = true;
}

void Pipeline::prepare(const std::string& name, const std::string& sql) {
    require(PQsendPrepare(connection_, name.c_str(), sql.c_str(), 0, nullptr));
    steps_.push_back({.kind = Kind::prepare, .call = 0, .sql = sql});
}

void Pipeline::send(std::size_t index, const sql::Call& call) {
    const std::string& sql = call.statement->sql;
    const ParamList params(call);
    auto found = owner_.prepared_.find(sql);
    if (found == owner_.prepared_.end() && !owner_.pooled_ &&
        owner_.prepared_.size() < prepared_max) {
        found =
            owner_.prepared_.emplace(sql, "postroom_" + std::to_string(owner_.prepared_count_++))
                .first;
        prepare(found->second, sql);
    }
    if (found != owner_.prepared_.end()) {
        require(PQsendQueryPrepared(connection_, found->second.c_str(), params.count(),
                                    params.values(), params.lengths(), params.formats(),
                                    binary_results));
    } else {
        require(PQsendQueryParams(connection_, sql.c_str(), params.count(), nullptr,
                                  params.values(), params.lengths(), params.formats(),
                                  binary_results));
    }
    steps_.push_back({.kind = Kind::call, .call = index, .sql = {}});
    flush();
}

void Pipeline::send_sync(bool commits) {
    require(PQpipelineSync(connection_));
    steps_.push_back({.kind = Kind::sync, .call = 0, .sql = {}});
    commit_sent_ = commit_sent_ || commits;
}

void Pipeline::require(int sent) {
    if (sent != 1) throw_broken();
}

void Pipeline::flush() {
    for (;;) {
        const int state = PQflush(connection_);
        if (state == 0) return;
        if (state < 0) throw_broken();
        pollfd socket{.fd = PQsocket(connection_), .events = POLLIN | POLLOUT, .revents = 0};
        ::poll(&socket, 1, -1);
        if ((socket.revents & (POLLIN | POLLERR | POLLHUP)) != 0 &&
            PQconsumeInput(connection_) != 1)
            throw_broken();
    }
}

void Pipeline::finish() {
    flush();
    for (const Step& step : steps_) read(step);
    if (error_) std::rethrow_exception(error_);
}

// A sync answers with one result; everything else with results up to a null pointer.
void Pipeline::read(const Step& step) {
    for (;;) {
        const Result result(PQgetResult(connection_));
        if (result == nullptr) {
            if (PQstatus(connection_) != CONNECTION_OK) throw_broken();
            return;
        }
        handle(step, *result);
        if (step.kind == Kind::sync) return;
    }
}

void Pipeline::handle(const Step& step, PGresult& result) {
    switch (PQresultStatus(&result)) {
        case PGRES_TUPLES_OK:
        case PGRES_SINGLE_TUPLE:
            if (step.kind == Kind::call && !error_) give_rows(step.call, result);
            return;
        case PGRES_COMMAND_OK:
            // A transaction that failed earlier answers a commit with a rollback.
            if (step.kind == Kind::commit && std::strcmp(PQcmdStatus(&result), "COMMIT") != 0) {
                note(std::make_exception_ptr(
                    Error(ErrorKind::rejected, "the transaction had failed and was rolled back")));
            }
            return;
        case PGRES_PIPELINE_SYNC:
            return;
        case PGRES_PIPELINE_ABORTED:
            // Not executed, because of the error before.
            if (step.kind == Kind::prepare) owner_.prepared_.erase(step.sql);
            return;
        default:
            break;
    }
    if (step.kind == Kind::prepare) owner_.prepared_.erase(step.sql);
    if (sqlstate_of(&result).empty()) throw_broken();
    Error error = server_error(result);
    // The server answers at the end of the pipeline, so a lost connection may be told in an earlier
    // place.
    const bool committing = step.kind == Kind::commit ||
                            (step.kind == Kind::sync && commit_sent_) ||
                            (commit_sent_ && sqlstate_of(&result).starts_with("08"));
    if (committing && error.kind() == ErrorKind::unavailable) {
        error = Error(ErrorKind::outcome_unknown, error.what());
    }
    note(std::make_exception_ptr(error));
    // A plan kept from before a migration, or statements that a DISCARD took away: a fresh
    // connection has none.
    const std::string state(sqlstate_of(&result));
    if (state == "0A000" || state == "26000" || state == "42P05") owner_.broken_ = true;
}

void Pipeline::give_rows(std::size_t call, const PGresult& result) {
    try {
        for (int row = 0; row < PQntuples(&result); ++row) on_row_(call, ResultRow(result, row));
    } catch (...) {
        note(std::current_exception());
    }
}

void Pipeline::note(std::exception_ptr error) {
    if (!error_) error_ = std::move(error);
}

// After a FATAL from the server the statement was not executed: then its words are what counts.
void Pipeline::throw_broken() {
    owner_.broken_ = true;
    if (error_) std::rethrow_exception(error_);
    throw broken_connection(*connection_,
                            commit_sent_ ? ErrorKind::outcome_unknown : ErrorKind::unavailable);
}

}  // namespace postroom::postgres
