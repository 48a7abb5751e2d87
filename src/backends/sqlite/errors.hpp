// Errors of SQLite as errors of ours.
#pragma once

#include <string>
#include <string_view>

#include "postroom/error.hpp"

struct sqlite3;

namespace postroom::sqlite {

// What the caller may do about an (extended) result code.
ErrorKind kind_of(int code);

// The error that `connection` reports now. `doing` is the operation, for the text.
Error error_of(sqlite3* connection, std::string_view doing);

}  // namespace postroom::sqlite
