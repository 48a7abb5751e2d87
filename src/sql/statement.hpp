// Statement: SQL text made ready for one engine.
//
// Dialects write their texts once, with `{table}` for names and `:name` for parameters.
// Statement::compile puts the engine's placeholders in and remembers which parameter stands where.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace postroom::sql {

enum class Placeholder {
    dollar,    // $1, reused for a repeated name (PostgreSQL)
    question,  // ?1, reused for a repeated name (SQLite)
    plain,     // ?, repeated for a repeated name
};

// When a statement of a unit finds nothing to do, judged by what others before it have changed. A
// driver that runs statements one by one may leave it out then; others run it for nothing.
struct Skip {
    std::vector<std::size_t> back;  // how many places before it they stand; none: it always runs
    bool if_changed = false;        // true: one of them has changed a row; false: none of them has
    // In place of that, if given: together they have changed so many rows as this parameter says.
    std::string ceiling{};
};

// What a driver may know of a statement beside its text.
struct Traits {
    bool reads_only = false;       // may be repeated, and needs no turn among writers
    bool compound = false;         // a routine of several statements: its failure may leave half
    bool own_transaction = false;  // compound, and a transaction by itself where none is open
    // Of a unit that writes rows of values: a statement without those asks for the number of the
    // row that the one before it has written, and nothing else.
    bool numbers_rows = false;
};

struct Statement {
    std::string sql;
    std::vector<std::string> names;  // of the parameters, by position
    Skip skip{};
    Traits traits{};
    // Where the values of one row stand in `sql`; size 0: it writes no rows of values. A driver may
    // repeat them for several rows.
    std::size_t row_at = 0;
    std::size_t row_size = 0;

    std::string_view row() const { return std::string_view(sql).substr(row_at, row_size); }

    // `::` casts, quoted text and comments are left alone.
    // `row`: takes the place of {rows}.
    static Statement compile(std::string_view text, Placeholder placeholder,
                             std::string_view row = {});
};

// One verb of the store: statements that run in order.
struct Unit {
    std::vector<Statement> statements;
    // False: all in one transaction. True: each statement is a transaction of its own, still sent
    // together.
    bool separate = false;
};

}  // namespace postroom::sql
