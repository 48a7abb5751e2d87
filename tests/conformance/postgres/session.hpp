// Session: a connection of the test's own that stays open, for transactions that must overlap.
#pragma once

#include <libpq-fe.h>

#include <string>

#include "support/postgres_server.hpp"

namespace postroom::test {

class Session {
public:
    explicit Session(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
        if (PQstatus(connection_) != CONNECTION_OK) throw SqlError(PQerrorMessage(connection_), "");
        PQsetNoticeProcessor(
            connection_,
            [](void* notices, const char* text) { *static_cast<std::string*>(notices) += text; },
            &notices_);
    }
    ~Session() { PQfinish(connection_); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // One statement or several; the rows of the last.
    SqlRows run(const std::string& sql) {
        PGresult* const result = PQexec(connection_, sql.c_str());
        const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        const SqlError error(PQresultErrorMessage(result), state == nullptr ? "" : state);
        SqlRows rows;
        for (int row = 0; row < PQntuples(result); ++row) {
            auto& cells = rows.emplace_back();
            for (int column = 0; column < PQnfields(result); ++column) {
                cells.push_back(PQgetisnull(result, row, column) != 0
                                    ? std::nullopt
                                    : std::optional<std::string>(PQgetvalue(result, row, column)));
            }
        }
        const ExecStatusType status = PQresultStatus(result);
        PQclear(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw error;
        return rows;
    }
    std::string value(const std::string& sql) { return run(sql).at(0).at(0).value_or("NULL"); }

    PGconn* native() { return connection_; }
    // What the server told beside the results.
    const std::string& notices() const { return notices_; }

private:
    PGconn* connection_;
    std::string notices_;
};

}  // namespace postroom::test
