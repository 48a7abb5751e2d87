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
};

struct Statement {
    std::string sql;
    std::vector<std::string> names;  // of the parameters, by position
    Skip skip{};

    // `::` casts, quoted text and comments are left alone.
    static Statement compile(std::string_view text, Placeholder placeholder);
};

// One verb of the store: statements that run in order.
struct Unit {
    std::vector<Statement> statements;
    // False: all in one transaction. True: each statement is a transaction of its own, still sent
    // together.
    bool separate = false;
};

}  // namespace postroom::sql
