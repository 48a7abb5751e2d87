// Encoding: values in PostgreSQL's binary form, as parameters of one statement.
//
// The server infers the types of parameters from the casts in the statement's text, so every value
// must be cast there to the type named here: integers to bigint, text to text, bytes to bytea,
// times to timestamptz.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/transaction.hpp"
#include "sql/connection.hpp"
#include "sql/value.hpp"

namespace postroom::postgres {

// PostgreSQL counts microseconds from 2000-01-01.
inline constexpr std::int64_t epoch_offset_us = 946'684'800'000'000;

// The binary form of a value that is not NULL.
std::string encode(const sql::Value& value);

// The parameter arrays that libpq takes. Keeps what it had to encode; text and bytes are pointed
// at, so the values must outlive it.
class ParamList {
public:
    // The parameters that the statement of `call` names.
    explicit ParamList(const sql::Call& call);
    // A statement of the user: numbers and text in text form, so that the server may take them for
    // any type. Throws Error{misuse} when there are more than the protocol can count.
    explicit ParamList(const std::vector<SqlValue>& values);

    int count() const { return static_cast<int>(pointers_.size()); }
    std::size_t size() const { return size_; }  // of all values, in bytes
    const char* const* values() const { return pointers_.data(); }
    const int* lengths() const { return lengths_.data(); }
    const int* formats() const { return formats_.data(); }

private:
    void reserve(std::size_t count);
    void add(const sql::Value& value);
    void add_bytes(std::string_view bytes, int format);
    void add_null();

    std::size_t size_ = 0;
    std::vector<std::string> encoded_;  // never grows beyond what was reserved: it is pointed at
    std::vector<const char*> pointers_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
};

// The form of a value for a driver that we do not know: integer, text or bytes; arrays as array
// literals.
SqlValue render(const sql::Value& value);

}  // namespace postroom::postgres
