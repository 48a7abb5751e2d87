// The shapes of outbox tables that others are known to use, and what the command line says about
// one: --shape, --table, --map and their like.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "postroom/table_adoption.hpp"

namespace postroom::cli {

std::vector<Option> foreign_table_options();

// What the command line alone says. Throws Failure{usage}.
void check_foreign_options(const Invocation& in);

// The table as the options describe it, its columns found in the database: names are compared
// without regard to case and underscores, so that CreatedAt, created_at and CREATEDAT are one.
// Throws Failure{not_found} when there is no such table, Failure{usage} with what it has when a
// column that is needed is not there.
ForeignTable foreign_table(Store& store, const Invocation& in);

TableAdoption& adoption(Store& store);

// What `ask` returns. What it says against the table as described is a mistake of the command line.
template <typename Ask>
auto as_usage(const Ask& ask) {
    try {
        return ask();
    } catch (const std::invalid_argument& error) {
        throw Failure(ExitCode::usage, error.what());
    }
}

// --chunk
std::uint32_t chunk_of(const Invocation& in);

// Between two tries for rows that others hold.
inline constexpr std::chrono::milliseconds held_pause{100};

}  // namespace postroom::cli
