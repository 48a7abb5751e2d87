// How PostgreSQL writes the fields of a message: types, parameters, columns of the message row.
#pragma once

#include <functional>
#include <string>

#include "sql/expander.hpp"

namespace postroom::postgres {

sql::FieldTexts field_texts();

// A column of the message row: as row_value() of sql/expander.hpp, its type, and its value for
// whoever has just read the lease: its id, its owner and its end are the variables in_lease_id,
// holder and ends.
std::string row_type(const Field& field);
std::string held_value(const Field& field, sql::RowPlace place, Queue queue);

// What `text_of` says of each field that is wanted, with commas between.
std::string joined(const std::function<bool(const Field&)>& wanted,
                   const std::function<std::string(const Field&)>& text_of);
std::function<bool(const Field&)> is_in(FieldSet set);
std::string name_of(const Field& field);

// Parameters that are arrays, for an INSERT of many rows: "unnest(:a::text[], ...) AS u (a, ...)",
// and what is inserted of them.
std::string arrays_of(FieldSet set);
std::string elements_of(FieldSet set);

}  // namespace postroom::postgres
