// The SQL of MariaDB and MySQL.
#pragma once

#include "backends/mysql/capabilities.hpp"
#include "sql/dialect.hpp"

namespace postroom::mysql {

sql::Dialect make_dialect(const Capabilities& capabilities);

const SqlWords& words();
std::vector<sql::HealthCheckText> health_checks();

}  // namespace postroom::mysql
