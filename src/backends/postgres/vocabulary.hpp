// What the tokens of our SQL texts stand for (sql/expander.hpp).
#pragma once

#include "sql/expander.hpp"

namespace postroom::postgres {

sql::Vocabulary make_vocabulary();

}  // namespace postroom::postgres
