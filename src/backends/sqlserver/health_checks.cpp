// The health checks of `postroom doctor` on SQL Server.
#include "backends/sqlserver/dialect.hpp"

namespace postroom::sqlserver {

namespace {

// Without row versions a claim waits for open transactions that wrote messages with ordering keys.
constexpr const char* row_versions = R"(
SELECT CASE WHEN d.is_read_committed_snapshot_on = 1 THEN 'ok' ELSE 'warning' END,
       CASE WHEN d.is_read_committed_snapshot_on = 1 THEN 'READ_COMMITTED_SNAPSHOT is on: readers wait for nobody'
            ELSE 'READ_COMMITTED_SNAPSHOT is off: claims may wait for open transactions that wrote messages with ordering keys' END
  FROM sys.databases AS d WHERE d.name = DB_NAME())";

}  // namespace

std::vector<sql::HealthCheckText> health_checks() {
    return {{.name = "row versions", .text = row_versions}};
}

}  // namespace postroom::sqlserver
