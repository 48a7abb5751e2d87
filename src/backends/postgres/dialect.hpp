// The SQL texts of PostgreSQL. The rules themselves live in the functions that the migrations
// install.
#pragma once

#include "sql/dialect.hpp"

namespace postroom::postgres {

sql::Dialect make_dialect();

sql::ForeignTexts foreign_texts();
std::vector<sql::ExamText> exam_texts();

}  // namespace postroom::postgres
