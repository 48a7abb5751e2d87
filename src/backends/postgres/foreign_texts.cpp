// How tables of others are read on PostgreSQL.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "backends/postgres/dialect.hpp"

namespace postroom::postgres {

sql::ForeignTexts foreign_texts() {
    return {.quote = '"',
            .columns =
                "SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a "
                "WHERE a.attrelid = to_regclass(:name::text) AND a.attnum > 0 "
                "AND NOT a.attisdropped ORDER BY a.attnum",
            .identity =
                "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n "
                "ON n.oid = c.relnamespace WHERE c.oid = to_regclass(:name::text)",
            // A time without a zone counts as UTC.
            .micros = "(extract(epoch FROM {}) * 1000000)::bigint",
            .text_bytes = "encode(convert_to({}::text, 'UTF8'), 'hex')",
            .blob_bytes = "encode({}, 'hex')",
            .is_false = "coalesce({}::integer, 0) = 0",
            .text_size = "octet_length({}::text)",
            .blob_size = "octet_length({})",
            .word = "{}",
            .lock = " FOR UPDATE SKIP LOCKED",
            .lock_waiting = " FOR UPDATE",
            .is_blob = [](std::string_view type) { return type == "bytea"; },
            .is_number =
                [](std::string_view type) {
                    constexpr std::array numbers{
                        std::string_view{"smallint"}, std::string_view{"integer"},
                        std::string_view{"bigint"},   std::string_view{"numeric"},
                        std::string_view{"real"},     std::string_view{"double precision"}};
                    return std::ranges::find(numbers, type) != numbers.end();
                },
            .now_as =
                [](std::string_view type) {
                    return std::string(type.find("without time zone") != std::string_view::npos
                                           ? "clock_timestamp() AT TIME ZONE 'UTC'"
                                           : "clock_timestamp()");
                },
            .true_as = [](std::string_view type) { return fmt::format("CAST(1 AS {})", type); }};
}

}  // namespace postroom::postgres
