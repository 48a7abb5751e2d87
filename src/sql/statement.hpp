// Statement: SQL text made ready for one engine.
//
// Dialects write their texts once, with `{table}` for names and `:name` for parameters.
// Statement::compile puts the engine's placeholders in and remembers which parameter stands where.
#pragma once

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

struct Statement {
    std::string sql;
    std::vector<std::string> names;  // of the parameters, by position

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
