// How tables of others are read on PostgreSQL.
#include <fmt/format.h>

#include <string>

#include "backends/postgres/dialect.hpp"

namespace postroom::postgres {

sql::ForeignTexts foreign_texts() {
    return {.quote = '"',
            .columns =
                "SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a "
                "WHERE a.attrelid = to_regclass(:name::text) AND a.attnum > 0 "
                "AND NOT a.attisdropped ORDER BY a.attnum",
            // A time without a zone counts as UTC.
            .micros = "(extract(epoch FROM {}) * 1000000)::bigint",
            .text_bytes = "encode(convert_to({}::text, 'UTF8'), 'hex')",
            .blob_bytes = "encode({}, 'hex')",
            .is_false = "coalesce({}::integer, 0) = 0",
            .lock = " FOR UPDATE SKIP LOCKED",
            .is_blob = [](std::string_view type) { return type == "bytea"; },
            .now_as =
                [](std::string_view type) {
                    return std::string(type.find("without time zone") != std::string_view::npos
                                           ? "clock_timestamp() AT TIME ZONE 'UTC'"
                                           : "clock_timestamp()");
                },
            .true_as = [](std::string_view type) { return fmt::format("CAST(1 AS {})", type); }};
}

}  // namespace postroom::postgres
