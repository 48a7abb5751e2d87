// What the server's numbers and the driver's SQLSTATEs mean for the caller.
#pragma once

#include <sql.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "postroom/error.hpp"

namespace postroom::sqlserver {

// The first thing that went wrong on a handle.
struct Diagnosis {
    std::string state;        // SQLSTATE
    std::int32_t number = 0;  // of the server, or of the driver
    std::string words;
};
Diagnosis diagnose(SQLSMALLINT kind, SQLHANDLE handle);

ErrorKind kind_of(std::string_view state, std::int32_t number);

// True when the connection is good for nothing any more.
bool is_loss(std::string_view state, std::int32_t number);

// The words of the server, or plain ones where it quotes values, which may be a part of a payload.
Error make_error(const Diagnosis& diagnosis);

// What went wrong, with what the server or the driver called it.
class LinkError : public Error {
public:
    explicit LinkError(const Diagnosis& diagnosis)
        : Error(make_error(diagnosis)), lost_(is_loss(diagnosis.state, diagnosis.number)) {}
    // The connection is good for nothing any more.
    bool lost() const { return lost_; }

private:
    bool lost_;
};

}  // namespace postroom::sqlserver
