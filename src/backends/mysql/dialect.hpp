// The SQL of MariaDB and MySQL.
#pragma once

#include "backends/mysql/capabilities.hpp"
#include "sql/dialect.hpp"

namespace postroom::mysql {

sql::Dialect make_dialect(const Capabilities& capabilities);

sql::ForeignTexts foreign_texts();
std::vector<sql::ExamText> exam_texts();

}  // namespace postroom::mysql
