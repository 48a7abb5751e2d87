// The shapes of outbox tables that others are known to use, and what the command line says about
// one: --shape, --table, --map and their like.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
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

// --chunk
std::uint32_t chunk_of(const Invocation& in);

}  // namespace postroom::cli
