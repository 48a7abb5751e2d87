#include "backends/postgres/result.hpp"

#include <limits>

#include "backends/postgres/encoding.hpp"
#include "postroom/error.hpp"

namespace postroom::postgres {

bool ResultRow::null(int column) const { return PQgetisnull(&result_, row_, column) != 0; }

std::string_view ResultRow::bytes(int column) const {
    return {PQgetvalue(&result_, row_, column),
            static_cast<std::size_t>(PQgetlength(&result_, row_, column))};
}

// Two's complement of one (boolean), two, four or eight bytes, the highest first.
std::int64_t ResultRow::integer(int column) const {
    const std::string_view value = bytes(column);
    if (value.empty()) return 0;
    std::uint64_t bits =
        (static_cast<std::uint8_t>(value.front()) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
    for (const char byte : value) bits = (bits << 8) | static_cast<std::uint8_t>(byte);
    return static_cast<std::int64_t>(bits);
}

Instant ResultRow::time(int column) const {
    const std::int64_t server = integer(column);
    // 'infinity' is the largest number; it stays the largest time.
    if (server > std::numeric_limits<std::int64_t>::max() - epoch_offset_us) return Instant::max();
    return Instant{Duration{server + epoch_offset_us}};
}

SqlRows text_rows(const PGresult& result) {
    SqlRows rows(static_cast<std::size_t>(PQntuples(&result)));
    for (std::size_t row = 0; row < rows.size(); ++row) {
        for (int column = 0; column < PQnfields(&result); ++column) {
            const int r = static_cast<int>(row);
            if (PQgetisnull(&result, r, column) != 0) {
                rows[row].emplace_back(std::nullopt);
            } else {
                rows[row].emplace_back(
                    std::string(PQgetvalue(&result, r, column),
                                static_cast<std::size_t>(PQgetlength(&result, r, column))));
            }
        }
    }
    return rows;
}

}  // namespace postroom::postgres
