// What a backend's folder holds for the deployer, embedded by the build.
//
// schema/NNNN_name.sql creates tables; once released such a file never changes, and what comes
// later is a new file. routines/name.sql creates functions, procedures and views over them; those
// of a queue are replaced as a whole whenever their text differs from what the database has. The
// first word of a name tells which queue's names the text is written with: `queue_...` runs once
// for each queue, `outbox_...` and `inbox_...` once.
#pragma once

#include <string_view>

namespace postroom::sql {

struct EmbeddedMigration {
    int number;
    std::string_view name;
    std::string_view text;
};

struct EmbeddedRoutines {
    std::string_view name;
    std::string_view text;
};

}  // namespace postroom::sql
