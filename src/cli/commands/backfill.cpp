#include <fmt/format.h>

#include <stdexcept>
#include <thread>

#include "cli/classic_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

std::uint64_t fill_chunk(adoption::Adoption& table, std::uint32_t chunk, std::uint64_t filled) {
    try {
        return table.backfill(chunk);
    } catch (const std::invalid_argument& error) {
        throw Failure(ExitCode::input,
                      fmt::format("{}; {} rows were given a key before it", error.what(), filled));
    }
}

std::uint64_t fill(adoption::Adoption& table, std::uint32_t chunk, std::uint64_t total) {
    Progress progress("keys", total);
    std::uint64_t filled = 0;
    while (true) {
        const std::uint64_t done = fill_chunk(table, chunk, filled);
        filled += done;
        progress.at(filled);
        if (done > 0) continue;
        if (table.count_without_key() == 0) return filled;
        std::this_thread::sleep_for(held_pause);
    }
}

ExitCode run_backfill(const Invocation& in) {
    const auto [store, table, chunk] = open_classic_table(in);
    if (!table.has("idempotency_key"))
        throw Failure(ExitCode::usage,
                      fmt::format("{} has no column for the key: add one that may be NULL, such as "
                                  "IdempotencyKey, or name it with --map idempotency_key=...",
                                  printable(table.name)));
    adoption::Adoption adopted(*store, table);
    const std::uint64_t missing = as_usage([&] { return adopted.count_without_key(); });
    const std::uint64_t filled = in.dry_run() ? 0 : fill(adopted, chunk, missing);
    if (in.json()) {
        print(JsonObject()
                  .add("table", table.name)
                  .add("missing", missing)
                  .add("filled", filled)
                  .add("dry_run", in.dry_run())
                  .text() +
              "\n");
    } else if (in.dry_run()) {
        print(fmt::format("would give {} rows of {} an idempotency key\n", missing,
                          printable(table.name)));
    } else {
        print(fmt::format("{} rows of {} were given an idempotency key\n", filled,
                          printable(table.name)));
    }
    return ExitCode::ok;
}

}  // namespace

Command backfill_command() {
    return {.name = "backfill",
            .summary = "Give the rows of a classic outbox table the idempotency keys they lack.",
            .details =
                "For a table that stays in use: rows whose key is NULL, in whatever state, get one "
                "that follows from the table and their id, the same that 'migrate adopt' would "
                "give them. In chunks, each a transaction of its own; writers go on, and the same "
                "command goes on after an interruption. Our own messages need none: without a key "
                "of its own a message has its message id for one.",
            .options = classic_table_options(),
            .examples = {"postroom backfill --shape outbox_messages"},
            .prints = true,
            .changes = true,
            .run = &run_backfill};
}

}  // namespace postroom::cli
