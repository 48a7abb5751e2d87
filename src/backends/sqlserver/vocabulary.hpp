// The words in which the SQL texts for SQL Server are written.
#pragma once

#include "sql/expander.hpp"

namespace postroom::sqlserver {

sql::Vocabulary make_vocabulary();

}  // namespace postroom::sqlserver
