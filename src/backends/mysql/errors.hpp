// What a failure of the server or of the connection means to the caller.
#pragma once

#include <mysql.h>

#include <string>
#include <string_view>

#include "postroom/error.hpp"

namespace postroom::mysql {

// What may be done after an error with this number.
ErrorKind kind_of(unsigned code);

// True when there was no server to talk to.
bool is_unreached(unsigned code);

// True when the connection is no more.
bool is_loss(unsigned code);

// True when the server cannot do it now and has done nothing: it is read-only, full or not ready.
bool is_refusal(unsigned code);

// True when the server has no such procedure, or the session no such savepoint.
bool is_missing_name(unsigned code);

// The error with the server's own words, but without values of rows or parameters, and with a hint
// where one helps.
Error make_error(unsigned code, std::string_view words);

// The reason that the client library gives as a number at the end of its words, in those of the
// system: "... (110)" is a connection that timed out. Empty when it gives none.
std::string connect_reason(std::string_view words);

// What the connection or the statement reports now.
Error error_of(MYSQL* connection);
Error error_of(MYSQL_STMT* statement);

}  // namespace postroom::mysql
