// The health checks of `postroom doctor` on SQLite.
#include <string>
#include <vector>

#include "backends/sqlite/dialect.hpp"

namespace postroom::sqlite {

std::vector<sql::HealthCheckText> health_checks() {
    return {{.name = "durability",
             .text = "SELECT iif(j.journal_mode = 'wal' AND s.synchronous >= 2, 'ok', 'bad'), "
                     "'journal mode ' || j.journal_mode || ', synchronous ' || s.synchronous || "
                     "iif(s.synchronous >= 2, ': a commit is on the disk', ': a power cut may undo "
                     "commits') FROM pragma_journal_mode AS j, pragma_synchronous AS s"},
            {.name = "claim plan",
             .text = "EXPLAIN QUERY PLAN SELECT m.seq FROM {live} AS m WHERE m.seq > 0 AND NOT "
                     "EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = m.seq) ORDER BY m.seq "
                     "LIMIT 50",
             .unwanted = "TEMP B-TREE"}};
}

}  // namespace postroom::sqlite
