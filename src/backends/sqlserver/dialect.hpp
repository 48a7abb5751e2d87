// The dialect of SQL Server: calls of its procedures, and what they are not needed for.
#pragma once

#include <vector>

#include "queue/sql_access.hpp"
#include "sql/dialect.hpp"

namespace postroom::sqlserver {

sql::Dialect make_dialect();

const SqlWords& words();
std::vector<sql::HealthCheckText> health_checks();

// The tables of the deployment itself, and what describes everything that it made.
extern const char* const migration_table_text;
extern const char* const migration_lock_text;
extern const char* const catalog_text;

}  // namespace postroom::sqlserver
