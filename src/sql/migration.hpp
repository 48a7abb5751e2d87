// A migration as embedded by the build from src/backends/<name>/migrations/NNNN_name.sql.
//
// The first word of the name tells which queue's names the text is written with: `NNNN_queue_...`
// runs once for each queue, `NNNN_outbox_...` and `NNNN_inbox_...` once.
#pragma once

#include <string_view>

namespace postroom::sql {

struct EmbeddedMigration {
    int number;
    std::string_view name;
    std::string_view text;
};

}  // namespace postroom::sql
