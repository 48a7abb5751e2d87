// The SQL texts of PostgreSQL. The rules themselves live in the functions that the migrations
// install.
#pragma once

#include "sql/dialect.hpp"

namespace postroom::postgres {

sql::Dialect make_dialect();

const SqlWords& words();
std::vector<sql::HealthCheckText> health_checks();

}  // namespace postroom::postgres
