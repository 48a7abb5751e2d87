#include "backends/mysql/row_values.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "postroom/error.hpp"

namespace postroom::mysql {

namespace {

constexpr std::size_t rows_max = 256;
// Up to here there is a statement for each number of rows: what a few threads write together
// travels in one.
constexpr std::size_t exact_rows_max = 32;

struct SizeOf {
    std::size_t operator()(sql::TextArray array) const { return array.size(); }
    std::size_t operator()(sql::BlobArray array) const { return array.size(); }
    std::size_t operator()(sql::TimeArray array) const { return array.size(); }
    template <class Other>
    std::size_t operator()(const Other&) const {
        return 0;  // an array of integers alone is a set, not a column
    }
};

// Of one element, roughly, as Bindings counts them.
struct BytesOf {
    std::size_t index;
    std::size_t operator()(sql::TextArray array) const {
        return array[index] ? array[index]->size() : 0;
    }
    std::size_t operator()(sql::BlobArray array) const { return array[index].bytes.size(); }
    template <class Other>
    std::size_t operator()(const Other&) const {
        return 0;
    }
};

// The values of a row in the order of its parameters; looked up once, not for each row.
std::vector<const sql::Value*> columns_of(const sql::Call& call) {
    std::vector<const sql::Value*> out;
    for (const std::string& name : call.statement->names) out.push_back(&call.params->at(name));
    return out;
}

std::size_t bytes_of_rows(const std::vector<const sql::Value*>& columns, std::size_t first,
                          std::size_t count) {
    std::size_t bytes = count * columns.size() * Bindings::bytes_per_value;
    for (const sql::Value* const column : columns) {
        for (std::size_t i = first; i < first + count; ++i)
            bytes += std::visit(BytesOf{i}, *column);
    }
    return bytes;
}

}  // namespace

std::size_t row_count(const sql::Call& call) {
    if (call.statement->row_size == 0) return 0;
    std::size_t count = 0;
    for (const std::string& name : call.statement->names)
        count = std::max(count, std::visit(SizeOf{}, call.params->at(name)));
    return count;
}

// Beyond a few, powers of two: each number of rows is a statement of its own to the server.
std::vector<std::size_t> parts_of(const sql::Call& call, std::size_t bytes_max) {
    std::vector<std::size_t> parts;
    const std::size_t total = row_count(call);
    const std::vector<const sql::Value*> columns = columns_of(call);
    for (std::size_t first = 0; first < total;) {
        const std::size_t left = total - first;
        std::size_t count =
            left <= exact_rows_max ? left : std::min(rows_max, std::bit_floor(left));
        while (count > 1 && bytes_of_rows(columns, first, count) > bytes_max) count /= 2;
        parts.push_back(count);
        first += count;
    }
    return parts;
}

std::string with_rows(const sql::Statement& statement, std::size_t count) {
    std::string out = statement.sql.substr(0, statement.row_at);
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) out += ", ";
        out += statement.row();
    }
    return out.append(statement.sql, statement.row_at + statement.row_size);
}

Bindings bindings_of_rows(const sql::Call& call, std::size_t first, std::size_t count) {
    const std::vector<const sql::Value*> columns = columns_of(call);
    Bindings out;
    out.reserve(count * columns.size());
    for (std::size_t i = first; i < first + count; ++i) {
        for (const sql::Value* const column : columns) out.add_element(*column, i);
    }
    return out;
}

}  // namespace postroom::mysql
