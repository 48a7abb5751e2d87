#include "sql/names.hpp"

#include <stdexcept>

namespace postroom::sql {

Names::Names(const OpenOptions& options)
    : schema("schema", options.schema),
      outbox("outbox_table", options.outbox_table),
      inbox("inbox_table", options.inbox_table),
      limits(options.limits) {
    if (outbox == inbox) {
        throw std::invalid_argument("inbox_table: must differ from outbox_table");
    }
}

}  // namespace postroom::sql
