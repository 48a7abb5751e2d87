// What the command line says about a classic outbox table: --shape, --table, --map and their like.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

#include "adoption/adoption.hpp"
#include "cli/command.hpp"
#include "cli/failure.hpp"

namespace postroom::cli {

std::vector<Option> classic_table_options();

struct OpenedTable {
    std::unique_ptr<Store> store;
    adoption::ClassicTable table;  // its columns found in the database
    std::uint32_t chunk;
};

// Throws Failure{not_found} when there is no such table, Failure{usage} with what it has when a
// column that is needed is not there. What the command line alone tells is checked first.
OpenedTable open_classic_table(const Invocation& in);

// What `ask` returns. What it says against the table as described is a mistake of the command line.
template <typename Ask>
auto as_usage(const Ask& ask) {
    try {
        return ask();
    } catch (const std::invalid_argument& error) {
        throw Failure(ExitCode::usage, error.what());
    }
}

// Between two tries for rows that others hold.
inline constexpr std::chrono::milliseconds held_pause{100};

}  // namespace postroom::cli
