// What a failure of the server or of the connection means to the caller.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <string_view>

#include "postroom/error.hpp"

namespace postroom::postgres {

// What may be done after an error with this SQLSTATE.
ErrorKind kind_of(std::string_view sqlstate);

// The SQLSTATE of a failed result; empty when the connection broke instead.
std::string_view sqlstate_of(const PGresult* result);

// The server's own words without values of rows or parameters, the SQLSTATE, and a hint where one
// helps.
std::string describe(const PGresult& result);

// The failure of a result that reached us from the server.
Error server_error(const PGresult& result);

// The connection broke. `kind` is unavailable, or outcome_unknown when a commit was on its way.
Error broken_connection(const PGconn& connection, ErrorKind kind);

}  // namespace postroom::postgres
