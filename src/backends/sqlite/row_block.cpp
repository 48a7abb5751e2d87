#include "backends/sqlite/row_block.hpp"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace postroom::sqlite {

namespace {

// `values` with the number of each ?1 raised.
void append_shifted(std::string& out, std::string_view values, std::size_t shift) {
    for (;;) {
        const std::size_t at = values.find('?');
        out.append(values.substr(0, at));
        if (at == std::string_view::npos) return;
        values.remove_prefix(at + 1);
        std::size_t number = 0;
        const auto* const end =
            std::from_chars(values.data(), values.data() + values.size(), number).ptr;
        out.append(fmt::format("?{}", number + shift));
        values.remove_prefix(static_cast<std::size_t>(end - values.data()));
    }
}

}  // namespace

bool begins_block(std::span<const sql::Call> calls) {
    if (calls.size() < 2 * block_rows || calls[0].statement->row_size == 0) return false;
    const sql::Statement& question = *calls[1].statement;
    if (!question.traits.numbers_rows || question.row_size > 0) return false;
    for (std::size_t i = 2; i < 2 * block_rows; ++i) {
        if (calls[i].statement != calls[i % 2].statement) return false;
    }
    return true;
}

std::string block_text(const sql::Statement& statement) {
    std::string out = statement.sql.substr(0, statement.row_at);
    for (std::size_t i = 0; i < block_rows; ++i) {
        if (i > 0) out += ',';
        append_shifted(out, statement.row(), i * statement.names.size());
    }
    return out;
}

}  // namespace postroom::sqlite
