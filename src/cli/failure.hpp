// Failure: ends a command with one line for the user and an exit code.
//
// The text says what to do and holds neither payloads nor secrets.
#pragma once

#include <stdexcept>
#include <string>

#include "cli/exit_code.hpp"

namespace postroom::cli {

class Failure : public std::runtime_error {
public:
    Failure(ExitCode code, const std::string& what) : std::runtime_error(what), code_(code) {}
    ExitCode code() const { return code_; }

private:
    ExitCode code_;
};

// The user has ended it: there is nothing to explain.
class EndedByUser : public Failure {
public:
    explicit EndedByUser(const std::string& what) : Failure(ExitCode::failed, what) {}
};

class Interrupted : public EndedByUser {
public:
    Interrupted() : EndedByUser("interrupted") {}
};

}  // namespace postroom::cli
