// ClassicTable: an outbox table that somebody else designed, and what its columns mean.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/clock.hpp"

namespace postroom::adoption {

// What a column can mean. Those that tell the state of a row are read by the conditions alone.
struct Field {
    enum class Kind : std::uint8_t { text, number, time, state };

    std::string name;
    Kind kind;
};
const std::vector<Field>& fields();

// Names are spelled as the database has them.
struct ClassicTable {
    std::string name{};  // or schema.name
    // The name of a field to that of its column; id, topic and payload must be there.
    std::map<std::string, std::string, std::less<>> columns{};
    // Values of `status`: numbers for a column of numbers, words for any other. Where no other
    // column tells what was delivered, `pending` must name some; a row whose status is `finished`
    // is never taken.
    std::vector<std::string> pending{};
    std::vector<std::string> dead{};
    std::string finished{};
    // Where there is no max_attempts: rows that failed so often are dead. 0: none are.
    std::uint32_t max_attempts = 0;
    // A row that was locked_at so long ago is not being delivered any more.
    Duration lock_timeout = std::chrono::minutes{5};

    bool has(std::string_view field) const { return columns.find(field) != columns.end(); }
    // A row can be marked as processed.
    bool can_mark() const {
        return has("is_processed") || has("processed_at") || (has("status") && !finished.empty());
    }
};

// A table that others are known to use.
struct Shape {
    std::string_view name;
    std::string_view table;
    std::string_view what;
    // field=Column, with blanks between them; of several columns with | the first that is there.
    std::string_view columns;
    std::vector<std::string> pending{};
    std::vector<std::string> dead{};
    std::string_view finished{};
    std::uint32_t max_attempts = 0;
};
const std::vector<Shape>& shapes();

// Maps the columns of `shape`, as far as they are among `columns`.
void map_columns(const Shape& shape, std::span<const std::string> columns, ClassicTable& table);

// `wanted` as spelled in `columns`, compared without regard to case and underscores, so that
// CreatedAt, created_at and CREATEDAT are one; empty: not there.
std::string find_column(std::span<const std::string> columns, std::string_view wanted);

std::vector<std::string> split(std::string_view text, char mark);

}  // namespace postroom::adoption
