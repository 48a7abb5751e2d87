#include "backends/postgres/pipeline.hpp"

#include <algorithm>
#include <cstring>

#include "backends/postgres/errors.hpp"
#include "backends/postgres/patience.hpp"

namespace postroom::postgres {

namespace {

constexpr std::size_t flush_size = 65'536;  // what is queued before it is sent

// Rather than a command such as SET, which nobody repeats for long.
bool changes_rows(PGresult& result) {
    const std::string_view tag = PQcmdStatus(&result);
    return tag.starts_with("INSERT") || tag.starts_with("UPDATE") || tag.starts_with("DELETE");
}

// A plan kept from before a migration, or statements that a DISCARD took away: a fresh connection
// has none of them.
bool names_are_stale(std::string_view state) {
    return state == "0A000" || state == "26000" || state == "42P05";
}

// The user may have worked on the native handle.
void require_idle(const PGconn* connection) {
    if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF)
        throw Error(ErrorKind::misuse, "the connection was left in pipeline mode");
    if (PQtransactionStatus(connection) == PQTRANS_ACTIVE)
        throw Error(ErrorKind::misuse,
                    "the connection is busy: read all results of the statement before this one");
}

}  // namespace

Pipeline::Pipeline(OwnConnection& owner)
    : owner_(owner), connection_(owner.native()), patience_(owner.patience_) {
    require_idle(connection_);
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
    steps_.push_back({.kind = Kind::command});
}

void Pipeline::send_commit() {
    require(PQsendQueryParams(connection_, "COMMIT", 0, nullptr, nullptr, nullptr, nullptr,
                              binary_results));
    steps_.push_back({.kind = Kind::commit});
    commit_sent_ = true;
}

const std::string* Pipeline::prepare(const std::string& sql, bool of_user) {
    const std::string* const name = owner_.prepared_.add(sql);
    if (name == nullptr) return nullptr;
    require(PQsendPrepare(connection_, name->c_str(), sql.c_str(), 0, nullptr));
    steps_.push_back({.kind = Kind::prepare, .sql = &sql, .of_user = of_user});
    return name;
}

void Pipeline::send(std::size_t index, const sql::Call& call, const sql::OnRow& on_row) {
    const std::string& sql = call.statement->sql;
    const ParamList params(call);
    const std::string* name = owner_.prepared_.find(sql);
    if (name == nullptr && !owner_.pooled_) name = prepare(sql, false);
    send(sql, name, params, binary_results);
    steps_.push_back({.kind = Kind::call, .call = index, .on_row = &on_row});
}

void Pipeline::send(const std::string& sql, const ParamList& params) {
    const std::string* name = owner_.prepared_.find(sql);
    if (name == nullptr && owner_.prepared_.repeated(sql)) name = prepare(sql, true);
    send(sql, name, params, text_results);
    steps_.push_back({.kind = Kind::statement, .sql = &sql, .of_user = true});
}

void Pipeline::send(const std::string& sql, const std::string* name, const ParamList& params,
                    int format) {
    if (name != nullptr) {
        require(PQsendQueryPrepared(connection_, name->c_str(), params.count(), params.values(),
                                    params.lengths(), params.formats(), format));
    } else {
        require(PQsendQueryParams(connection_, sql.c_str(), params.count(), nullptr,
                                  params.values(), params.lengths(), params.formats(), format));
    }
    size_ += sql.size() + params.size();
    unsent_ += sql.size() + params.size();
    if (unsent_ >= flush_size) flush();
}

void Pipeline::send_sync(bool commits) {
    require(PQpipelineSync(connection_));
    steps_.push_back({.kind = Kind::sync});
    commit_sent_ = commit_sent_ || commits;
}

void Pipeline::require(int sent) {
    if (sent != 1) throw_broken();
}

void Pipeline::flush() {
    if (const auto waited = await_sent(*connection_, owner_.conninfo_, patience_))
        throw_unanswered(*waited);
    if (PQflush(connection_) < 0 || PQstatus(connection_) != CONNECTION_OK) throw_broken();
    unsent_ = 0;
}

// The answers may come all at once, at the end. How long a statement of the user takes is for the
// user to limit.
Duration Pipeline::patience() const {
    constexpr Duration for_each = std::chrono::milliseconds{50};
    const bool of_user =
        std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.of_user; });
    return of_user ? without_end
                   : owner_.patience_ + for_each * static_cast<std::int64_t>(steps_.size());
}

void Pipeline::finish() {
    patience_ = patience();
    flush();
    for (const Step& step : steps_) read(step);
    if (error_) std::rethrow_exception(error_);
}

// A sync answers with one result; everything else with results up to a null pointer.
void Pipeline::read(const Step& step) {
    for (;;) {
        if (const auto waited = await_answer(*connection_, owner_.conninfo_, patience_))
            throw_unanswered(*waited);
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
            if (step.kind == Kind::call && !error_) give_rows(step, result);
            if (step.kind == Kind::statement) rows_ = text_rows(result);
            return;
        case PGRES_EMPTY_QUERY:
            return;
        case PGRES_COMMAND_OK:
            if (step.kind == Kind::statement && !owner_.pooled_ && changes_rows(result) &&
                owner_.prepared_.find(*step.sql) == nullptr)
                owner_.prepared_.ran(*step.sql);
            // A transaction that failed earlier answers a commit with a rollback.
            if (step.kind != Kind::commit) return;
            committed_ = std::strcmp(PQcmdStatus(&result), "COMMIT") == 0;
            if (!committed_) {
                note(std::make_exception_ptr(
                    Error(ErrorKind::rejected, "the transaction had failed and was rolled back")));
            }
            return;
        case PGRES_PIPELINE_SYNC:
            return;
        case PGRES_PIPELINE_ABORTED:
            // Not executed, because of the error before.
            if (step.kind == Kind::prepare) owner_.prepared_.forget(*step.sql);
            return;
        default:
            break;
    }
    if (step.sql != nullptr) owner_.prepared_.failed(*step.sql);
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
    if (!step.of_user && names_are_stale(sqlstate_of(&result))) owner_.broken_ = true;
}

void Pipeline::give_rows(const Step& step, const PGresult& result) {
    try {
        for (int row = 0; row < PQntuples(&result); ++row)
            (*step.on_row)(step.call, ResultRow(result, row));
    } catch (...) {
        note(std::current_exception());
    }
}

void Pipeline::note(std::exception_ptr error) {
    if (!error_) error_ = std::move(error);
}

void Pipeline::throw_unanswered(Duration waited) {
    owner_.broken_ = true;
    throw no_answer(commit_sent_ ? ErrorKind::outcome_unknown : ErrorKind::unavailable, waited);
}

// After a FATAL from the server the statement was not executed: then its words are what counts.
void Pipeline::throw_broken() {
    owner_.broken_ = true;
    if (error_) std::rethrow_exception(error_);
    throw broken_connection(*connection_,
                            commit_sent_ ? ErrorKind::outcome_unknown : ErrorKind::unavailable);
}

}  // namespace postroom::postgres
