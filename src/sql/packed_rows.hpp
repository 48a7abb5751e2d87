// PackedRows: messages for the outbox as two values, for engines without arrays of texts.
//
// One text, a JSON array with an object for each message: the fields by name as far as they are
// given, numbers as numbers, times as texts in UTC; its place in the array; where its payload
// stands (payload_at, from 1) and how long that is (payload_bytes). And the payloads, end to end:
// no JSON holds all bytes.
#pragma once

#include <span>
#include <string>

#include "sql/message_params.hpp"

namespace postroom::sql {

class PackedRows {
public:
    // A statement that changes more rows than this may lock their whole table.
    static constexpr std::size_t rows_max = 1000;

    PackedRows(std::span<const OutboxRow* const> rows, FieldSet set);

    // :messages and :payloads; this object must outlive the run.
    void set(Params& params) const;

private:
    std::string messages_ = "[";
    std::string payloads_;
};

}  // namespace postroom::sql
