#include "backends/mysql/row_values.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "postroom/error.hpp"

namespace postroom::mysql {

namespace {

constexpr std::string_view mark = "/*row*/";
constexpr std::size_t rows_max = 256;

struct SizeOf {
    std::size_t operator()(sql::TextArray array) const { return array.size(); }
    std::size_t operator()(sql::BlobArray array) const { return array.size(); }
    std::size_t operator()(sql::TimeArray array) const { return array.size(); }
    template <class Other>
    std::size_t operator()(const Other&) const {
        return 0;  // an array of integers alone is a set, not a column
    }
};

}  // namespace

std::size_t row_count(const sql::Call& call) {
    if (call.statement->sql.find(mark) == std::string::npos) return 0;
    std::size_t count = 0;
    for (const std::string& name : call.statement->names)
        count = std::max(count, std::visit(SizeOf{}, call.params->at(name)));
    return count;
}

// Powers of two.
std::vector<std::size_t> parts_of(const sql::Call& call, std::size_t bytes_max) {
    std::vector<std::size_t> parts;
    const std::size_t total = row_count(call);
    for (std::size_t first = 0; first < total;) {
        std::size_t count = std::min(rows_max, std::bit_floor(total - first));
        while (count > 1 && bindings_of_rows(call, first, count).bytes() > bytes_max) count /= 2;
        parts.push_back(count);
        first += count;
    }
    return parts;
}

std::string with_rows(const std::string& sql, std::size_t count) {
    const std::size_t open = sql.find(mark);
    const std::size_t close = sql.find(mark, open + mark.size());
    const std::string_view row =
        std::string_view(sql).substr(open + mark.size(), close - open - mark.size());
    std::string out = sql.substr(0, open);
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) out += ", ";
        out += row;
    }
    return out.append(sql, close + mark.size());
}

Bindings bindings_of_rows(const sql::Call& call, std::size_t first, std::size_t count) {
    Bindings out;
    for (std::size_t i = first; i < first + count; ++i) {
        for (const std::string& name : call.statement->names)
            out.add_element(call.params->at(name), i);
    }
    return out;
}

}  // namespace postroom::mysql
