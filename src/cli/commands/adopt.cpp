#include <fmt/format.h>

#include <stdexcept>
#include <thread>

#include "cli/classic_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/confirm.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/text.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

using adoption::Adoption;

constexpr std::chrono::milliseconds follow_pause{500};
constexpr int conflicts_max = 10;  // in a row

struct Outcome {
    std::uint64_t rows = 0;
    std::uint64_t enqueued = 0;
};

std::string so_far(const Outcome& outcome, bool unknown = false) {
    if (unknown)
        return fmt::format(
            "{} rows were taken over before it; its chunk was taken over as a whole "
            "or not at all, and the same command goes on behind it",
            outcome.rows);
    return fmt::format("{} rows were taken over before it, and no part of its chunk", outcome.rows);
}

// A chunk that met somebody else's is repeated as a whole.
Adoption::Taken take_chunk(Adoption& table, const Adoption::Request& request,
                           const Outcome& outcome) {
    for (int conflicts = 0;; ++conflicts) {
        try {
            return table.take(request);
        } catch (const std::invalid_argument& error) {
            throw Failure(ExitCode::input, fmt::format("{}; {}; mend the row or mark it as "
                                                       "processed, then go on",
                                                       error.what(), so_far(outcome)));
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::conflict || conflicts == conflicts_max)
                throw Error(
                    error.kind(),
                    fmt::format("{}; {}", error.what(),
                                so_far(outcome, error.kind() == ErrorKind::outcome_unknown)));
        }
    }
}

Outcome take_over(Adoption& table, const Adoption::Request& request, std::uint64_t total,
                  bool follow) {
    Outcome outcome;
    Progress progress("rows taken over",
                      follow ? std::nullopt : std::optional<std::uint64_t>(total));
    while (true) {
        const Adoption::Taken chunk = take_chunk(table, request, outcome);
        outcome.rows += chunk.rows;
        outcome.enqueued += chunk.enqueued;
        progress.at(outcome.rows);
        if (chunk.rows > 0) continue;
        if (!follow && !chunk.held) return outcome;
        std::this_thread::sleep_for(chunk.held ? held_pause : follow_pause);
    }
}

void report(const Invocation& in, const std::string& table, const Outcome& outcome,
            const Adoption::Counts& counts) {
    if (in.json()) {
        print(JsonObject()
                  .add("table", table)
                  .add("pending", counts.pending)
                  .add("dead", counts.dead)
                  .add("adopted", outcome.rows)
                  .add("enqueued", outcome.enqueued)
                  .add("dry_run", in.dry_run())
                  .text() +
              "\n");
        return;
    }
    const std::string dead =
        counts.dead == 0 || in.has("dead")
            ? ""
            : fmt::format("; {} dead rows stay where they are (--dead takes them too)",
                          counts.dead);
    if (in.dry_run()) {
        print(fmt::format("would take over {} rows of {}{}\n",
                          counts.pending + (in.has("dead") ? counts.dead : 0), printable(table),
                          dead));
        return;
    }
    const std::uint64_t known = outcome.rows - outcome.enqueued;
    print(fmt::format(
        "{} rows of {} taken over{}{}\n", outcome.rows, printable(table),
        known == 0 ? "" : fmt::format(", {} of them were messages here already", known), dead));
}

// Whoever removes rows of another program's table cannot put them back.
void confirm_removal(const Invocation& in, const std::string& table, std::uint64_t rows) {
    if (!in.has("remove")) return;
    confirm(in, [&]() -> std::string {
        if (rows == 0 && !in.has("follow")) return "";
        return fmt::format("take over {} of {} and remove {} there{}?", counted(rows, "row"), table,
                           rows == 1 ? "it" : "them",
                           in.has("follow") ? ", and what is still written too" : "");
    });
}

ExitCode run_adopt(const Invocation& in) {
    const auto [store, table, chunk] = open_classic_table(in);
    const Adoption::Request request{
        .rows = chunk, .dead = in.has("dead"), .remove = in.has("remove")};
    if (!request.remove && !table.can_mark())
        throw Failure(ExitCode::usage,
                      fmt::format("no column of {} tells that a row was processed; name one with "
                                  "--map processed_at=..., or let the rows be removed with "
                                  "--remove",
                                  printable(table.name)));
    Adoption adopted(*store, table);
    const Adoption::Counts counts = as_usage([&] { return adopted.count(); });
    const std::uint64_t total = counts.pending + (request.dead ? counts.dead : 0);
    confirm_removal(in, table.name, total);
    Outcome outcome;
    if (!in.dry_run()) outcome = take_over(adopted, request, total, in.has("follow"));
    report(in, table.name, outcome, counts);
    return ExitCode::ok;
}

}  // namespace

Command adopt_command() {
    std::vector<Option> options = classic_table_options();
    const std::vector<Option> more{
        {.name = "pending",
         .value = "VALUES",
         .what = "Values of the status that wait for delivery, with commas."},
        {.name = "dead-status",
         .value = "VALUES",
         .what = "Values of the status that are given up."},
        {.name = "finished", .value = "VALUE", .what = "The status of what was delivered."},
        {.name = "lock-timeout",
         .value = "DURATION",
         .what = "A row that was locked_at so long ago may be taken; 5m."},
        {.name = "dead", .what = "Dead rows too, as new messages."},
        {.name = "remove",
         .what = "Remove the rows instead of marking them as processed; asks first, or needs --yes "
                 "where there is no terminal to ask on."},
        {.name = "follow", .what = "Go on with what is still written, until ended."}};
    options.insert(options.end(), more.begin(), more.end());
    options.push_back(yes_option());
    return {.name = "adopt",
            .summary = "Take over the rows of an outbox table that another program writes.",
            .details =
                "Each chunk is one transaction that enqueues here and marks there: nothing is lost "
                "or doubled, whenever it is ended, and the same command goes on where it was. Old "
                "writers may go on; stop the old dispatcher first. Rows without an idempotency key "
                "get one that follows from the table and their id. Attempts are counted anew.",
            .options = std::move(options),
            .examples = {"postroom migrate adopt --shape outbox_event --dry-run",
                         "postroom migrate adopt --table shop.events --map id=nr --map topic=kind "
                         "--map payload=body --remove"},
            .prints = true,
            .changes = true,
            .run = &run_adopt};
}

}  // namespace postroom::cli
