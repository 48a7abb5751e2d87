// Values in a form that any driver can bind.
#pragma once

#include "postroom/transaction.hpp"
#include "sql/value.hpp"

namespace postroom::mysql {

SqlValue render_value(const sql::Value& value);

}  // namespace postroom::mysql
