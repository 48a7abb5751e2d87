// Error: the outside world failed, and kind() tells what the caller may do now.
//
// Outcomes that a correct program expects (a duplicate, an empty claim, a lost lease) are return
// values, not errors. Broken arguments are std::invalid_argument or std::out_of_range, with the
// field and the limit.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace postroom {

enum class ErrorKind {
    unavailable,  // The database could not be reached or gave up; nothing happened. Try again
                  // later.
    conflict,     // Deadlock, serialization failure, busy: nothing happened. Repeat the whole unit.
    outcome_unknown,  // The connection broke while committing: it may or may not have happened.
    rejected,         // The database refused: a constraint, a missing table, a missing right.
    misuse,           // The call does not fit the state: no open transaction, a finished one.
};

std::string_view to_string(ErrorKind kind);

class Error : public std::runtime_error {
public:
    Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}

    ErrorKind kind() const { return kind_; }
    // True when nothing happened and the same call may succeed when repeated.
    bool retryable() const {
        return kind_ == ErrorKind::unavailable || kind_ == ErrorKind::conflict;
    }

private:
    ErrorKind kind_;
};

}  // namespace postroom
