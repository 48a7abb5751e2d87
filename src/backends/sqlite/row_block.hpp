// Blocks of rows: several inserts of one row each as one statement.
//
// Half of what an insert costs does not depend on how many rows it writes: opening the table and
// its indexes, reading and writing the number given last. A text that may be run in blocks ends
// with its row of values, and the statement that asks for the number of the new row follows it
// (Traits::numbers_rows):
//     INSERT INTO {live} (...) VALUES {rows}
//     SELECT last_insert_rowid(), 0
// The rows of one statement are numbered without a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sql/connection.hpp"

namespace postroom::sqlite {

inline constexpr std::size_t block_rows = 16;

// True when `calls` begin with a block of such inserts, each with its question.
bool begins_block(std::span<const sql::Call> calls);

// The text of a block, made from that of one row. The parameters of the row i stand behind those of
// the row i - 1.
std::string block_text(const sql::Statement& statement);

// What the question would have yielded.
class NumberRow final : public sql::Row {
public:
    explicit NumberRow(std::int64_t number) : number_(number) {}

    bool null(int) const override { return false; }
    std::int64_t integer(int column) const override { return column == 0 ? number_ : 0; }
    std::string_view text(int) const override { return {}; }
    std::string_view blob(int) const override { return {}; }
    Uuid uuid(int) const override { return {}; }
    Instant time(int) const override { return {}; }

private:
    const std::int64_t number_;
};

}  // namespace postroom::sqlite
