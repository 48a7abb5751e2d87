// Bindings: the parameters of one execution of a prepared statement, in the driver's own form.
#pragma once

#include <mysql.h>

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "postroom/transaction.hpp"
#include "sql/value.hpp"

namespace postroom::mysql {

// Refers to the bytes of texts and blobs, which must outlive it.
class Bindings {
public:
    // Besides the bytes of texts and blobs.
    static constexpr std::size_t bytes_per_value = 16;

    void reserve(std::size_t count) { binds_.reserve(count); }
    void add(const sql::Value& value);
    void add(const SqlValue& value);
    // Element `index` of an array, or the value itself when it is none.
    void add_element(const sql::Value& value, std::size_t index);

    std::size_t count() const { return binds_.size(); }
    MYSQL_BIND* data() { return binds_.data(); }
    // Of what is sent, roughly.
    std::size_t bytes() const { return bytes_; }

private:
    void add_null();
    void add_integer(std::int64_t number);
    void add_bytes(std::string_view bytes, enum_field_types type);
    void add_time(Instant time);

    std::vector<MYSQL_BIND> binds_;
    std::deque<std::int64_t> integers_;
    std::deque<MYSQL_TIME> times_;
    std::deque<std::string> texts_;
    std::size_t bytes_ = 0;
};

}  // namespace postroom::mysql
